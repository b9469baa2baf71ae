//===- ImportSplit.cpp - Operators that take tensors apart ----------------===//

#include "frontend/NodeImporter.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

namespace {
/// What a node takes apart, and along which axis.
struct Whole {
  Value x;
  int64_t axis, extent;
};
} // namespace

static FailureOr<Whole> wholeOf(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  FailureOr<int64_t> axis = node.axis(0, shapeOf(x).size());
  if (failed(axis))
    return failure();
  return Whole{x, *axis, shapeOf(x)[*axis]};
}

static FailureOr<SmallVector<Value>>
createSplit(NodeImporter &node, const Whole &whole, ArrayRef<int64_t> sizes) {
  const auto &[x, axis, extent] = whole;
  int64_t total = 0;
  bool fits = true; // each piece by itself, so that the sum is bounded
  for (int64_t size : sizes) {
    fits = fits && size >= 1 && size <= extent - total;
    total += fits ? size : 0;
  }
  if (!fits || total != extent || sizes.empty())
    return node.fail("cuts an extent of " + Twine(extent) + " into " +
                     printShape(sizes));
  if (sizes.size() == 1)
    return SmallVector<Value>{x};
  SmallVector<Type> types;
  for (int64_t size : sizes) {
    Shape shape(shapeOf(x));
    shape[axis] = size;
    types.push_back(node.tensorOf(shape));
  }
  auto split = node.create<train::SplitOp>(types, x, axis, sizes);
  return SmallVector<Value>(split.getResults());
}

/// Most elements of a sequence. A file that asks for more is refused: passes
/// look at all pieces for each.
static constexpr int64_t maxPieces = 1 << 12;

/// `parts` pieces of one size, the last one possibly smaller.
static Shape evenSizes(int64_t extent, int64_t size) {
  Shape sizes(extent / size, size);
  if (extent % size)
    sizes.push_back(extent % size);
  return sizes;
}

LogicalResult lwcc::importSplit(NodeImporter &node) {
  FailureOr<std::optional<Shape>> given = node.integers(1, "split");
  if (failed(given))
    return failure();
  FailureOr<Whole> whole = wholeOf(node);
  if (failed(whole))
    return failure();
  int64_t extent = whole->extent;
  Shape sizes;
  if (*given) {
    sizes = **given;
  } else {
    int64_t parts = node.integer("num_outputs", node.numOutputs());
    if (parts < 1 || parts > extent || parts > node.numOutputs())
      return node.fail("cuts an extent of " + Twine(extent) + " into " +
                       Twine(parts) + " parts");
    sizes = evenSizes(extent, (extent + parts - 1) / parts);
  }
  if (sizes.size() != node.numOutputs())
    return node.fail("has " + Twine(node.numOutputs()) + " outputs for the " +
                     Twine(sizes.size()) + " parts of an extent of " +
                     Twine(extent));
  FailureOr<SmallVector<Value>> parts = createSplit(node, *whole, sizes);
  if (failed(parts))
    return failure();
  for (auto [i, part] : enumerate(*parts))
    if (failed(node.result(i, part)))
      return failure();
  return success();
}

LogicalResult lwcc::importSplitToSequence(NodeImporter &node) {
  HostRef split = node.constant(1);
  if (node.hasInput(1) && (!split || split->isReal() || split->size() == 0))
    return node.fail("needs a split known at compile time");
  FailureOr<Whole> whole = wholeOf(node);
  if (failed(whole))
    return failure();
  int64_t extent = whole->extent;
  // Pieces of one size, or each of its own.
  const bool isEven = !split || split->shape.empty();
  const int64_t size = !isEven ? 0
                       : split ? std::min(extent, split->integers[0])
                               : 1;
  if (isEven && size < 1)
    return node.fail("cuts an extent of " + Twine(extent) + " into pieces of " +
                     Twine(size));
  const int64_t count = isEven ? (extent + size - 1) / size : split->size();
  if (count > maxPieces)
    return node.fail("makes a sequence of " + Twine(count) +
                     " elements; at most " + Twine(maxPieces) +
                     " are supported");
  const Shape sizes =
      isEven ? evenSizes(extent, size)
             : Shape(split->integers.begin(), split->integers.end());
  if (!node.spendOnSequence(sizes.size()))
    return failure();
  FailureOr<SmallVector<Value>> parts = createSplit(node, *whole, sizes);
  if (failed(parts))
    return failure();
  bool drop = !split && node.integer("keepdims", 1) == 0;
  auto sequence = std::make_shared<std::vector<Imported>>();
  if (parts->size() > 1) { // one is the node's own input
    Operation *op = parts->front().getDefiningOp();
    SmallVector<Attribute> names;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      names.push_back(
          node.builder().getStringAttr(node.output() + "." + Twine(i)));
    op->setAttr(train::namesAttr, node.builder().getArrayAttr(names));
  }
  for (Value part : *parts) {
    Shape shape(shapeOf(part));
    if (drop)
      shape.erase(shape.begin() + whole->axis);
    sequence->push_back(node.reshape(part, shape));
  }
  return node.result(0, Imported(Sequence(sequence)));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static Value createSlice(NodeImporter &node, Value x,
                         const SliceBounds &bounds) {
  if (bounds.extent == Shape(shapeOf(x)) &&
      all_of(bounds.step, [](int64_t step) { return step == 1; }))
    return x;
  return node.create<train::SliceOp>(node.tensorOf(bounds.extent), x,
                                     bounds.start, bounds.step);
}

LogicalResult lwcc::importSlice(NodeImporter &node) {
  auto starts = node.integers(1, "starts"), ends = node.integers(2, "ends"),
       axes = node.integers(3, "axes"), steps = node.integers(4, "steps");
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends)
    return node.fail("lacks its starts or ends");
  Value x = node.live(0);
  if (!x)
    return failure();
  std::string error;
  std::optional<SliceBounds> bounds =
      sliceBounds(shapeOf(x), **starts, **ends, *axes, *steps, error);
  if (!bounds)
    return node.fail(error);
  if (*elementCount(bounds->extent) == 0)
    return node.result(0, node.emptyTensor(bounds->extent));
  return node.result(0, createSlice(node, x, *bounds));
}

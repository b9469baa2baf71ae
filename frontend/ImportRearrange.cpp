//===- ImportRearrange.cpp - Elements at places known at compile time -----===//
//
// Operators that take, repeat or overwrite elements whose places do not depend
// on the data: Gather and its kin with constant indices, Tile, the paddings by
// elements, and those between depth and space.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// The indices of input i, which must be integers known at compile time; null
/// after reporting.
static HostRef indicesOf(NodeImporter &node, unsigned i) {
  HostRef indices = node.constant(i);
  if (indices && !indices->isReal() && indices->size() > 0)
    return indices;
  (void)node.fail("needs indices known at compile time as its input '" +
                  node.input(i) +
                  "'; tables that are read by data (embeddings) are not "
                  "supported");
  return nullptr;
}

/// An index in [-extent, extent), counted from the front; fails after
/// reporting.
static FailureOr<int64_t> placeOf(NodeImporter &node, int64_t index,
                                  int64_t extent) {
  if (index < -extent || index >= extent)
    return node.fail("reads index " + Twine(index) + " of an extent of " +
                     Twine(extent));
  return index < 0 ? index + extent : index;
}

LogicalResult lwcc::importGather(NodeImporter &node) {
  HostRef indices = indicesOf(node, 1);
  if (!indices)
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> from = shapeOf(x);
  FailureOr<int64_t> axis = node.axis(0, from.size());
  if (failed(axis))
    return failure();
  Shape places;
  for (int64_t index : indices->integers) {
    FailureOr<int64_t> place = placeOf(node, index, from[*axis]);
    if (failed(place))
      return failure();
    places.push_back(*place);
  }
  Shape shape(from.take_front(*axis));
  append_range(shape, indices->shape);
  append_range(shape, from.drop_front(*axis + 1));
  Value y = rewrite::take(node, x, *axis, places);
  return y ? node.result(0, node.reshape(y, shape)) : failure();
}

/// Places in the row-major order of `extents`, one for each tuple of indices.
static FailureOr<Shape> placesOf(NodeImporter &node, const HostTensor &indices,
                                 ArrayRef<int64_t> extents) {
  Shape places;
  size_t size = extents.size();
  for (size_t i = 0; i < indices.integers.size(); i += size) {
    int64_t place = 0;
    for (size_t d = 0; d < size; ++d) {
      FailureOr<int64_t> at =
          placeOf(node, indices.integers[i + d], extents[d]);
      if (failed(at))
        return failure();
      place = place * extents[d] + *at;
    }
    places.push_back(place);
  }
  return places;
}

/// The number of dimensions that the last axis of `indices` counts; 0 after
/// reporting that it does not fit data of `rank` dimensions.
static int64_t tupleSize(NodeImporter &node, const HostTensor &indices,
                         int64_t rank) {
  int64_t size = indices.shape.empty() ? 0 : indices.shape.back();
  if (size >= 1 && size <= rank)
    return size;
  (void)node.fail("has indices of shape " + printShape(indices.shape) +
                  " for data of " + Twine(rank) + " dimensions");
  return 0;
}

LogicalResult lwcc::importGatherND(NodeImporter &node) {
  HostRef indices = indicesOf(node, 1);
  if (!indices)
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  if (node.integer("batch_dims", 0) != 0)
    return node.fail("has batch_dims=" + Twine(node.integer("batch_dims", 0)) +
                     "; only 0 is supported");
  Shape from(shapeOf(x));
  int64_t size = tupleSize(node, *indices, from.size());
  if (size == 0)
    return failure();
  ArrayRef<int64_t> leading = ArrayRef(from).take_front(size);
  FailureOr<Shape> places = placesOf(node, *indices, leading);
  if (failed(places))
    return failure();
  Shape rows = {*elementCount(leading)};
  Shape shape(ArrayRef(indices->shape).drop_back());
  rows.append(from.begin() + size, from.end());
  shape.append(from.begin() + size, from.end());
  Value y = rewrite::take(node, node.reshape(x, rows), 0, *places);
  return y ? node.result(0, node.reshape(y, shape)) : failure();
}

/// Data of which some rows are replaced: rows of data and updates, joined, are
/// taken in a new order.
LogicalResult lwcc::importScatterND(NodeImporter &node) {
  HostRef indices = indicesOf(node, 1);
  if (!indices)
    return failure();
  Value x = node.live(0), updates = node.live(2);
  if (!x || !updates)
    return failure();
  if (StringRef how = node.text("reduction", "none"); how != "none")
    return node.fail("has reduction='" + how + "'; only 'none' is supported");
  Shape from(shapeOf(x));
  int64_t size = tupleSize(node, *indices, from.size());
  if (size == 0)
    return failure();
  ArrayRef<int64_t> leading = ArrayRef(from).take_front(size);
  FailureOr<Shape> places = placesOf(node, *indices, leading);
  if (failed(places))
    return failure();
  Shape wanted(ArrayRef(indices->shape).drop_back());
  wanted.append(from.begin() + size, from.end());
  if (wanted != Shape(shapeOf(updates)))
    return node.fail("has updates of shape " + printShape(shapeOf(updates)) +
                     " where " + printShape(wanted) + " is needed");
  int64_t count = *elementCount(leading);
  if (!rewrite::admitTable(node, count, 1))
    return failure();
  Shape rows = {count}, newRows = {int64_t(places->size())};
  rows.append(from.begin() + size, from.end());
  newRows.append(from.begin() + size, from.end());
  Shape order = to_vector(seq<int64_t>(0, count));
  for (auto [i, place] : enumerate(*places))
    order[place] = count + i;
  Value both = rewrite::concat(
      node, {node.reshape(x, rows), node.reshape(updates, newRows)}, 0);
  Value y = rewrite::take(node, both, 0, order);
  return y ? node.result(0, node.reshape(y, from)) : failure();
}

LogicalResult lwcc::importTile(NodeImporter &node) {
  FailureOr<std::optional<Shape>> repeats = node.integers(1, "repeats");
  if (failed(repeats))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape shape(shapeOf(x));
  bool fits = *repeats && (*repeats)->size() == shape.size();
  if (!fits || any_of(**repeats, [](int64_t r) { return r < 1; }))
    return node.fail("repeats data of shape " + printShape(shape) + " " +
                     printShape(repeats->value_or(Shape())) +
                     " times; a number of at least 1 for each dimension is "
                     "needed");
  for (auto [d, count] : enumerate(**repeats)) {
    if (MulOverflow(shape[d], count, shape[d]) || !elementCount(shape))
      return node.fail("makes a tensor that is too large");
    x = rewrite::repeat(node, x, d, count, true);
  }
  return node.result(0, x);
}

//===----------------------------------------------------------------------===//
// Depth and space
//===----------------------------------------------------------------------===//

LogicalResult lwcc::importDepthToSpace(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  int64_t block = node.integer("blocksize", 0);
  bool toSpace = node.op() == "DepthToSpace";
  StringRef mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.fail("has the unknown mode '" + mode + "'");
  bool sane = from.size() == 4 && block >= 1 && block < 1 << 15;
  if (!sane || (toSpace ? from[1] % (block * block) != 0
                        : from[2] % block != 0 || from[3] % block != 0))
    return node.fail("has blocks of " + Twine(block) + " and data of shape " +
                     printShape(from) + ", which do not fit each other");
  int64_t n = from[0], c = from[1], h = from[2], w = from[3];
  if (!toSpace) {
    x = node.reshape(x, {n, c, h / block, block, w / block, block});
    x = rewrite::transpose(node, x, {0, 3, 5, 1, 2, 4});
    return node.result(
        0, node.reshape(x, {n, c * block * block, h / block, w / block}));
  }
  int64_t depth = c / (block * block);
  if (mode == "DCR") {
    x = node.reshape(x, {n, block, block, depth, h, w});
    x = rewrite::transpose(node, x, {0, 3, 4, 1, 5, 2});
  } else {
    x = node.reshape(x, {n, depth, block, block, h, w});
    x = rewrite::transpose(node, x, {0, 1, 4, 2, 5, 3});
  }
  return node.result(0, node.reshape(x, {n, depth, h * block, w * block}));
}

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

/// The element that stands at a place outside (or inside) of an extent.
static int64_t mirrored(StringRef mode, int64_t place, int64_t extent) {
  auto within = [](int64_t a, int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge")
    return std::clamp<int64_t>(place, 0, extent - 1);
  if (mode == "wrap")
    return within(place, extent);
  int64_t period = std::max<int64_t>(1, 2 * (extent - 1)); // reflect
  int64_t at = within(place, period);
  return at < extent ? at : period - at;
}

LogicalResult lwcc::importPad(NodeImporter &node) {
  StringRef mode = node.text("mode", "constant");
  if (!is_contained({"constant", "reflect", "edge", "wrap"}, mode))
    return node.fail("has the unknown mode '" + mode + "'");
  auto pads = node.integers(1, "pads"), axes = node.integers(3, "");
  FailureOr<double> value = node.scalar(2, "value");
  if (failed(pads) || failed(axes) || failed(value))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  int64_t rank = from.size();
  Shape along = axes->value_or(to_vector(seq<int64_t>(0, rank)));
  if (!*pads || (*pads)->size() != 2 * along.size())
    return node.fail("needs two pads for each of " + Twine(along.size()) +
                     " dimensions");
  Shape low(rank, 0), shape = from;
  std::string error;
  for (auto [i, raw] : enumerate(along)) {
    std::optional<int64_t> axis = normalizeAxis(raw, rank, error);
    if (!axis)
      return node.fail(error);
    int64_t before = (**pads)[i], after = (**pads)[i + along.size()];
    constexpr int64_t limit = 1 << 20;
    if (std::min(before, after) < -limit || std::max(before, after) > limit ||
        from[*axis] + before + after < 1)
      return node.fail("pads an extent of " + Twine(from[*axis]) + " by " +
                       Twine(before) + " and " + Twine(after));
    low[*axis] = before;
    shape[*axis] = from[*axis] + before + after;
  }
  if (mode != "constant") {
    for (int64_t axis : seq<int64_t>(0, rank)) {
      if (shape[axis] == from[axis] && low[axis] == 0)
        continue;
      if (!rewrite::admitTable(node, shape[axis], 1))
        return failure();
      // Negative pads crop ahead of the others.
      int64_t after = shape[axis] - from[axis] - low[axis];
      int64_t first = std::max<int64_t>(0, -low[axis]);
      int64_t extent = from[axis] - first + std::min<int64_t>(0, after);
      if (extent < 1)
        return node.fail("crops all of an extent of " + Twine(from[axis]));
      Shape places;
      for (int64_t i : seq<int64_t>(0, shape[axis]))
        places.push_back(first + mirrored(mode,
                                          i - std::max<int64_t>(0, low[axis]),
                                          extent));
      x = rewrite::take(node, x, axis, places);
    }
    return node.result(0, x);
  }
  if (shape == from && all_of(low, [](int64_t v) { return v == 0; }))
    return node.result(0, x);
  float fill = std::isnan(*value) ? 0.0f : float(*value);
  Value y =
      node.create<train::PadOp>(node.tensorOf(shape), x, low, APFloat(fill));
  return node.result(0, y);
}

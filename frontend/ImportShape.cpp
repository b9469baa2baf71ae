//===- ImportShape.cpp - Operators that only move elements ----------------===//

#include "frontend/Metadata.h"
#include "frontend/NodeImporter.h"
#include "frontend/Parameters.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

LogicalResult lwcc::importIdentity(NodeImporter &node) {
  const Leaf *const *leaf = node.raw(0).as<Leaf *>();
  const bool hasGradient =
      node.raw(0).as<Value>() || (leaf && (*leaf)->role == Role::trainable);
  if (isExportedDetach(node.proto()) && hasGradient && !node.isWhole(0)) {
    Value x = node.live(0);
    return x ? node.result(0, node.map("detach", {x})) : failure();
  }
  return node.result(0, Imported(node.raw(0)));
}

/// All values of a program are float32, so that a cast between float types has
/// no effect, and none between integers. A cast to booleans says what is not
/// zero, one to integers rounds towards zero. Those of less than 32 bits would
/// wrap around.
LogicalResult lwcc::importCast(NodeImporter &node) {
  std::optional<HostTensor::Kind> kind = HostTensor::Kind::real;
  if (node.op() == "Cast")
    kind = elementKind(int32_t(node.integer("to", 0)));
  else if (node.isWhole(1) && !node.isWhole(0))
    return node.fail("casts data to the integers or booleans of '" +
                     node.input(1) + "'; lwcc trains in floating point only");
  const bool truncates = kind == HostTensor::Kind::integer && !node.isWhole(0);
  const auto to = int32_t(node.integer("to", 0));
  if (!kind || (truncates && to != onnx::TensorProto::INT32 &&
                to != onnx::TensorProto::INT64))
    return node.fail("casts data to " + elementTypeName(to) +
                     "; of integers, only INT32 and INT64 are supported");
  Value x = node.live(0);
  if (x && truncates)
    x = node.map("truncate", {x});
  if (x && kind == HostTensor::Kind::boolean)
    x = node.map("not", {node.map("not", {x})});
  return x ? node.result(0, x) : failure();
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

LogicalResult lwcc::importReshape(NodeImporter &node) {
  FailureOr<std::optional<Shape>> target = node.integers(1, "shape");
  if (failed(target))
    return failure();
  if (!*target)
    return node.fail("lacks its target shape");
  ArrayRef<int64_t> from = node.shape(0);
  // Exporters write the batch of a static model into its reshapes. Import
  // checks afterwards that this changed no other dimension anywhere.
  if (node.rebatch() && !from.empty() && from[0] == node.batch() &&
      !(*target)->empty() && (**target)[0] == node.rebatch())
    (**target)[0] = node.batch();
  std::string error;
  std::optional<Shape> shape =
      reshapedShape(from, **target, node.integer("allowzero", 0) != 0, error);
  return node.reshapeTo(0, shape, error);
}

LogicalResult lwcc::importFlatten(NodeImporter &node) {
  std::string error;
  std::optional<Shape> shape =
      flattenedShape(node.shape(0), node.integer("axis", 1), error);
  return node.reshapeTo(0, shape, error);
}

LogicalResult lwcc::importSqueeze(NodeImporter &node) {
  FailureOr<std::optional<Shape>> axes = node.integers(1, "axes");
  if (failed(axes))
    return failure();
  std::string error;
  std::optional<Shape> shape = squeezedShape(node.shape(0), *axes, error);
  return node.reshapeTo(0, shape, error);
}

LogicalResult lwcc::importUnsqueeze(NodeImporter &node) {
  FailureOr<std::optional<Shape>> axes = node.integers(1, "axes");
  if (failed(axes))
    return failure();
  if (!*axes)
    return node.fail("lacks its axes");
  std::string error;
  std::optional<Shape> shape = unsqueezedShape(node.shape(0), **axes, error);
  return node.reshapeTo(0, shape, error);
}

//===----------------------------------------------------------------------===//
// Rearrangements
//===----------------------------------------------------------------------===//

LogicalResult lwcc::importTranspose(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  int64_t rank = shapeOf(x).size();
  Shape identity = to_vector(seq<int64_t>(0, rank));
  Shape perm =
      node.NodeView::integers("perm").value_or(to_vector(reverse(identity)));
  std::string error;
  if (normalizeAxes(perm, rank, error) != identity)
    return node.fail("has a perm that is no permutation of " + Twine(rank) +
                     " dimensions");
  for (int64_t &d : perm)
    d = d < 0 ? d + rank : d;
  return node.result(0, rewrite::transpose(node, x, perm));
}

LogicalResult lwcc::importExpand(NodeImporter &node) {
  FailureOr<std::optional<Shape>> target = node.integers(1, "shape");
  if (failed(target))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  std::optional<Shape> shape;
  if (*target && elementCount(**target))
    shape = broadcast(shapeOf(x), **target);
  if (!shape || elementCount(*shape).value_or(0) == 0)
    return node.fail("cannot expand " + printShape(shapeOf(x)) + " to " +
                     printShape(target->value_or(Shape())));
  return node.result(0, rewrite::expand(node, x, *shape));
}

LogicalResult lwcc::importConcat(NodeImporter &node) {
  const Shape first(node.shape(0));
  FailureOr<int64_t> axis = node.axis(1, first.size());
  if (failed(axis))
    return failure();
  Shape shape = first;
  shape[*axis] = 0;
  SmallVector<Value> operands;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    const Shape own(node.shape(i));
    Shape mine = shape, other = own;
    bool fits = other.size() == mine.size() &&
                !AddOverflow(shape[*axis], other[*axis], shape[*axis]);
    if (fits)
      mine[*axis] = other[*axis] = 0;
    if (mine != other)
      return node.fail("joins '" + node.input(0) + "' of shape " +
                       printShape(first) + " and '" + node.input(i) +
                       "' of shape " + printShape(own) + " along axis " +
                       Twine(*axis));
    if (own[*axis] == 0) // nothing to join
      continue;
    operands.push_back(node.live(i));
    if (!operands.back())
      return failure();
  }
  if (operands.empty())
    return node.result(0, node.emptyTensor(shape));
  return node.result(0, rewrite::concat(node, operands, *axis));
}

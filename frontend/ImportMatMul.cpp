//===- ImportMatMul.cpp - Gemm and MatMul ---------------------------------===//
//
// Gemm and MatMul become train.matmul. A Transpose of a stored weight becomes a
// flag of the product, so that no step computes it.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

LogicalResult lwcc::importGemm(NodeImporter &node) {
  bool transA = node.integer("transA", 0) != 0;
  bool transB = node.integer("transB", 0) != 0;
  float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  ArrayRef<int64_t> a = node.shape(0), b = node.shape(1);
  if (a.size() != 2 || b.size() != 2 || a[!transA] != b[transB])
    return node.fail("multiplies " + printShape(a) +
                     (transA ? " (transposed)" : "") + " and " + printShape(b) +
                     (transB ? " (transposed)" : "") +
                     ", which do not fit each other");
  int64_t m = a[transA], k = a[!transA], n = b[!transB];
  bool biased = beta != 0 && !node.isZero(2);
  Value left = node.live(0), right = node.live(1), bias;
  if (biased)
    bias = node.live(2);
  if (!left || !right || (biased && !bias))
    return failure();
  node.setFreshUniform(right, k);
  Shape product = {m, n};
  if (bias && broadcast(shapeOf(bias), product) != product)
    return node.fail("adds a C of shape " + printShape(shapeOf(bias)) +
                     " to a product of shape " + printShape(product));
  // A bias per column is part of the product; anything else is added to it.
  ArrayRef<int64_t> c = bias ? shapeOf(bias) : ArrayRef<int64_t>();
  bool perColumn = !c.empty() && c.back() == n && *elementCount(c) == n;
  if (perColumn)
    node.setFreshUniform(bias, k);
  Value fused;
  if (perColumn && alpha == 1 && beta == 1)
    fused = node.reshape(bias, {n});
  Value y = node.create<train::MatMulOp>(node.tensorOf(product), left, right,
                                         fused, false, transA, transB);
  if (alpha != 1)
    y = node.map("scale", {y}, {{"alpha", alpha}});
  if (bias && !fused) {
    if (beta != 1)
      bias = node.map("scale", {bias}, {{"alpha", beta}});
    y = node.map("add", {y, bias});
  }
  return node.result(0, y);
}

/// If the operand is a stored tensor with its last two dimensions swapped,
/// makes it the stored tensor and returns true. The caller flips the product's
/// flag.
static bool takeTranspose(Value &operand) {
  auto transpose = operand.getDefiningOp<train::TransposeOp>();
  if (!transpose)
    return false;
  Shape swapped = to_vector(seq<int64_t>(0, transpose.getPerm().size()));
  if (swapped.size() < 2)
    return false;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  if (transpose.getPerm() != ArrayRef<int64_t>(swapped) ||
      !transpose.getX().getDefiningOp<train::ReadOp>())
    return false;
  operand = transpose.getX();
  return true;
}

LogicalResult lwcc::importMatMul(NodeImporter &node) {
  Value a = node.live(0), b = node.live(1);
  if (!a || !b)
    return failure();
  Shape sa(shapeOf(a)), sb(shapeOf(b));
  auto mismatch = [&] {
    return node.fail("multiplies " + printShape(node.shape(0)) + " and " +
                     printShape(node.shape(1)) +
                     ", which do not fit each other");
  };
  if (sa.empty() || sb.empty())
    return mismatch();
  // Vectors are matrices of one row or column, which the result drops again.
  bool row = sa.size() == 1, column = sb.size() == 1;
  if (row)
    sa.insert(sa.begin(), 1);
  if (column)
    sb.push_back(1);
  int64_t m = sa[sa.size() - 2], k = sa.back(), n = sb.back();
  std::optional<Shape> leading =
      broadcast(ArrayRef(sa).drop_back(2), ArrayRef(sb).drop_back(2));
  if (!leading || k != sb[sb.size() - 2])
    return mismatch();
  a = node.reshape(a, sa);
  b = node.reshape(b, sb);
  // matmul wants equal leading dimensions, or a plain matrix at the right.
  auto broadcastTo = [&](Value value, int64_t rows, int64_t columns) {
    Shape shape = *leading;
    shape.append({rows, columns});
    return rewrite::expand(node, value, shape);
  };
  a = broadcastTo(a, m, k);
  if (sb.size() > 2)
    b = broadcastTo(b, k, n);
  bool transB = takeTranspose(b);
  Shape shape = *leading;
  shape.append({m, n});
  Value y = node.create<train::MatMulOp>(node.tensorOf(shape), a, b, Value(),
                                         false, false, transB);
  if (sb.size() == 2)
    node.setFreshUniform(b, k);
  if (column)
    shape.pop_back();
  if (row)
    shape.erase(shape.end() - (column ? 1 : 2));
  return node.result(0, node.reshape(y, shape));
}

//===- Attention.cpp - Softmax of products with keys, times values --------===//
//
// Attention of several heads, which lie behind one another in the last
// dimension of queries, keys and values. Cut along samples and heads: each head
// of a sample is computed on its own.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks what the op and its gradient read: queries, keys, values and mask.
template <typename OpT>
static LogicalResult verifyOperands(OpT op) {
  for (auto [what, x] : {std::pair("q", op.getQ()), std::pair("k", op.getK()),
                         std::pair("v", op.getV())}) {
    if (failed(expectRank(op, what, x, 3)))
      return failure();
    const int64_t last = shapeOf(x)[2];
    if (op.getHeads() < 1 || last % op.getHeads() != 0)
      return op->emitOpError() << what << " has " << last << " features for "
                               << op.getHeads() << " heads";
  }
  const Dims q(shapeOf(op.getQ())), v(shapeOf(op.getV()));
  if (failed(expectShape(op, "k", op.getK(), {q[0], v[1], q[2]})))
    return failure();
  if (v[0] != q[0])
    return op->emitOpError()
           << "v has " << v[0] << " samples; expected " << q[0];
  return op.getMask() ? expectShape(op, "mask", op.getMask(), {q[1], v[1]})
                      : success();
}

/// A number for each row of scores.
template <typename OpT>
static Dims statisticsShape(OpT op) {
  ArrayRef<int64_t> q = shapeOf(op.getQ());
  return {q[0], static_cast<int64_t>(op.getHeads()), q[1]};
}

template <typename OpT>
static Dims resultShape(OpT op) {
  ArrayRef<int64_t> q = shapeOf(op.getQ());
  return {q[0], q[1], shapeOf(op.getV())[2]};
}

template <typename OpT>
static LogicalResult verifyStatistics(OpT op) {
  if (failed(expectShape(op, "largest", op.getLargest(), statisticsShape(op))))
    return failure();
  return expectShape(op, "inverse", op.getInverse(), statisticsShape(op));
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyOperands(*this)) ||
      failed(expectShape(*this, "y", getY(), resultShape(*this))))
    return failure();
  return verifyStatistics(*this);
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyOperands(*this)) ||
      failed(expectShape(*this, "dy", getDy(), resultShape(*this))) ||
      failed(verifyStatistics(*this)))
    return failure();
  for (auto [what, x, dx] :
       {std::tuple("dq", getQ(), getDq()), std::tuple("dk", getK(), getDk()),
        std::tuple("dv", getV(), getDv())})
    if (failed(expectShape(*this, what, dx, shapeOf(x))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (!resultGrads[0])
    return grads;
  auto made = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      resultGrads[0], getQ(), getK(), getV(), getLargest(), getInverse(),
      getMask(), getHeadsAttr(), getScaleAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      grads[i] = made->getResult(i);
  return grads;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Samples and heads.
template <typename OpT>
static Grid extentsOf(OpT op) {
  return tiling::extentsAlong(
      {n, c}, {shapeOf(op.getQ())[0], static_cast<int64_t>(op.getHeads())});
}

namespace {
/// The parts of one tile.
struct Part {
  Interval samples, heads;
  int64_t allHeads;

  /// Of tokens [n, t, heads * size].
  Box tokens(Value x) const {
    const int64_t size = shapeOf(x)[2] / allHeads;
    return {
        samples, {0, shapeOf(x)[1]}, {heads.begin * size, heads.end * size}};
  }
  /// Of statistics [n, heads, t].
  Box statistics(Value x) const { return {samples, heads, {0, shapeOf(x)[2]}}; }
};
} // namespace

template <typename OpT>
static Part partOf(OpT op, const Cuts &cuts, const Grid &index, Tile &tile) {
  const auto heads = static_cast<int64_t>(op.getHeads());
  Part part{cuts.part(n, shapeOf(op.getQ())[0], index[n]),
            cuts.part(c, heads, index[c]), heads};
  if (part.heads.size() != heads)
    tile.attributes.set(
        op.getHeadsAttrName(),
        IntegerAttr::get(op.getHeadsAttr().getType(), part.heads.size()));
  return part;
}

Grid AttentionOp::extents() { return extentsOf(*this); }
Grid AttentionGradOp::extents() { return extentsOf(*this); }

Tile AttentionOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  const Part part = ::partOf(*this, cuts, index, tile);
  tile.operands = {part.tokens(getQ()), part.tokens(getK()),
                   part.tokens(getV())};
  if (getMask())
    tile.operands.push_back(wholeOf(getMask()));
  tile.results = {part.tokens(getY()), part.statistics(getLargest()),
                  part.statistics(getInverse())};
  return tile;
}

Tile AttentionGradOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  const Part part = ::partOf(*this, cuts, index, tile);
  tile.operands = {
      part.tokens(getDy()),          part.tokens(getQ()),
      part.tokens(getK()),           part.tokens(getV()),
      part.statistics(getLargest()), part.statistics(getInverse())};
  if (getMask())
    tile.operands.push_back(wholeOf(getMask()));
  tile.results = {part.tokens(getDq()), part.tokens(getDk()),
                  part.tokens(getDv())};
  return tile;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Of products for each query: with all keys, so many numbers a key and head.
static Arithmetic productsOf(const std::optional<Box> &q,
                             const std::optional<Box> &k, double numbers) {
  return Arithmetic::product(volume(q) / extent(q, 2), extent(k, 1), numbers);
}

/// Scores, and what they weigh.
Arithmetic AttentionOp::arithmetic(const CallShape &call) {
  const auto &q = call.operands[0], &k = call.operands[1],
             &v = call.operands[2];
  return productsOf(q, k, extent(q, 2) + extent(v, 2));
}

/// Scores once more, their gradient, and that of each operand.
Arithmetic AttentionGradOp::arithmetic(const CallShape &call) {
  const auto &q = call.operands[1], &k = call.operands[2],
             &v = call.operands[3];
  return productsOf(q, k, 3 * extent(q, 2) + 2 * extent(v, 2));
}

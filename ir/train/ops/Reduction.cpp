//===- Reduction.cpp - Sums, means and maxima over axes -------------------===//
//
// Sums, means and maxima over axes. The gradient of a sum or mean is a map that
// broadcasts, that of a maximum goes to the largest elements. Maxima of tiles
// are combined in passes/shard/Combine.cpp.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Expression.h"
#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), axes = getAxes();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(expectAxis(*this, axis, getX())))
      return failure();
    if (i && axes[i - 1] >= axis)
      return emitOpError() << "axes are " << text(axes)
                           << "; expected ascending order";
  }
  Dims kept, dropped;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(dim));
    kept.push_back(reduced ? 1 : extent);
    if (!reduced)
      dropped.push_back(extent);
  }
  if (shapeOf(getY()) == ArrayRef<int64_t>(kept))
    return success();
  return expectShape(*this, "result", getY(), dropped);
}

LogicalResult ReduceMaxOp::verify() {
  return expectAxis(*this, getAxis(), getX());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> ReduceOp::buildGradients(OpBuilder &builder,
                                            ArrayRef<Value> resultGrads,
                                            ArrayRef<bool> needed) {
  RankedTensorType type = typeOf(getX());
  Value dy = resultGrads[0];
  if (typeOf(dy).getRank() != type.getRank()) {
    SmallVector<int64_t> kept(type.getShape());
    for (int64_t axis : getAxes())
      kept[axis] = 1;
    dy = ReshapeOp::create(builder, getLoc(),
                           tensorOf(builder.getContext(), kept), dy);
  }
  Expression spread = Expression::inputOf(0);
  if (getMean()) {
    double count = static_cast<double>(type.getNumElements()) /
                   typeOf(getY()).getNumElements();
    Expression scaled{Expression::Kind::binary};
    scaled.op = "*";
    scaled.args = {spread, Expression::literalOf(1.0 / count)};
    spread = std::move(scaled);
  }
  return {buildMap(builder, getLoc(), type, spread, {dy})};
}

/// Elements that are the largest share the gradient, as of torch.amax.
SmallVector<Value> ReduceMaxOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  auto map = [&](StringRef text, ValueRange inputs) {
    return buildMap(builder, getLoc(), typeOf(getX()),
                    llvm::cantFail(Expression::parse(text)), inputs);
  };
  Value largest = map("x0 == x1 ? 1.0f : 0.0f", {getX(), getY()});
  Value count = ReduceOp::create(
      builder, getLoc(), getY().getType(), largest,
      ArrayRef<int64_t>{static_cast<int64_t>(getAxis())}, false);
  return {map("x0 * x1 / x2", {resultGrads[0], largest, count})};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The dimensions of a reduction's operand. A mean is not cut along the axes
/// that it reduces: the means of parts do not add up to it.
static Axes axesOf(ReduceOp op) {
  Axes axes = usualAxes(op.getX());
  if (op.getMean())
    for (int64_t axis : op.getAxes())
      axes[axis] = none;
  return axes;
}

Grid ReduceOp::extents() { return extentsAlong(axesOf(*this), getX()); }
Grid ReduceMaxOp::extents() { return extentsAlong(usualAxes(getX()), getX()); }

Tile ReduceOp::tile(const Cuts &cuts, const Grid &index) {
  Box in = cut(axesOf(*this), getX(), cuts, index), out;
  bool kept = shapeOf(getY()).size() == shapeOf(getX()).size();
  for (auto [d, axis] : llvm::enumerate(in))
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(d)))
      out.push_back(axis);
    else if (kept)
      out.push_back({0, 1});
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

Tile ReduceMaxOp::tile(const Cuts &cuts, const Grid &index) {
  Box in = cut(usualAxes(getX()), getX(), cuts, index), out = in;
  out[getAxis()] = {0, 1};
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

//===- Softmax.cpp - Softmax and log-softmax ------------------------------===//
//
// Softmax and log-softmax along an axis. If the plan cuts that axis,
// passes/shard/TakeApart.h replaces the op by maxima, sums and maps.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

LogicalResult SoftmaxOp::verify() {
  if (failed(expectAxis(*this, getAxis(), getX())))
    return failure();
  return expectShape(*this, "result", getY(), shapeOf(getX()));
}

LogicalResult SoftmaxGradOp::verify() {
  if (failed(expectAxis(*this, getAxis(), getY())))
    return failure();
  return expectShape(*this, "result", getDx(), shapeOf(getY()));
}

SmallVector<Value> SoftmaxOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {SoftmaxGradOp::create(builder, getLoc(), getX().getType(),
                                resultGrads[0], getY(), getAxis(), getLog())};
}

Grid SoftmaxOp::extents() { return extentsAlong(usualAxes(getX()), getX()); }
Grid SoftmaxGradOp::extents() {
  return extentsAlong(usualAxes(getDy()), getDy());
}

Tile SoftmaxOp::tile(const Cuts &cuts, const Grid &index) {
  return alikeTile(*this, cuts, index);
}
Tile SoftmaxGradOp::tile(const Cuts &cuts, const Grid &index) {
  return alikeTile(*this, cuts, index);
}

static int dimensionOf(Value value, int64_t axis) {
  return usualAxes(value)[axis];
}
int SoftmaxOp::getClassDimension() { return dimensionOf(getY(), getAxis()); }
int SoftmaxGradOp::getClassDimension() {
  return dimensionOf(getY(), getAxis());
}

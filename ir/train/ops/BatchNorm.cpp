//===- BatchNorm.cpp - Batch normalization --------------------------------===//
//
// Batch normalization. train-decompose replaces batch_norm and batch_norm_grad
// by reductions per channel (batch_norm_stats, batch_norm_grad_stats) and maps.
// The reductions are kernels and are cut here; combining statistics of tiles is
// passes/shard/Combine.cpp.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

LogicalResult BatchNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() < 2)
    return emitOpError() << "input has rank " << x.size()
                         << "; expected at least 2";
  const std::pair<StringRef, Value> perChannel[] = {
      {"scale", getScale()},
      {"bias", getBias()},
      {"running_mean", getRunningMean()},
      {"running_variance", getRunningVariance()},
      {"mean", getMean()},
      {"invstd", getInvstd()},
      {"new_mean", getNewMean()},
      {"new_variance", getNewVariance()}};
  for (auto [what, value] : perChannel)
    if (failed(expectShape(*this, what, value, {x[1]})))
      return failure();
  return expectShape(*this, "result", getY(), x);
}

SmallVector<Value> BatchNormOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (!resultGrads[0])
    return grads;
  auto grad = BatchNormGradOp::create(builder, getLoc(), getX().getType(),
                                      getScale().getType(), getBias().getType(),
                                      resultGrads[0], getX(), getScale(),
                                      getMean(), getInvstd());
  for (unsigned i : {0, 1, 2}) // x, scale, bias
    if (needed[i])
      grads[i] = grad->getResult(i);
  return grads;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static Grid statisticsExtents(Value images) {
  return extentsAlong(channelAxes(shapeOf(images).size()), images);
}

/// The tile of an op on images and values per channel.
static Tile statisticsTile(Operation *op, const Cuts &cuts, const Grid &index) {
  Value images = op->getOperand(0);
  Box box = cut(channelAxes(shapeOf(images).size()), images, cuts, index);
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(shapeOf(operand).size() == 1 ? Box{box[1]} : box);
  tile.results.assign(op->getNumResults(), Box{box[1]});
  return tile;
}

Grid BatchNormStatsOp::extents() { return statisticsExtents(getX()); }
Grid BatchNormGradStatsOp::extents() { return statisticsExtents(getDy()); }

Tile BatchNormStatsOp::tile(const Cuts &cuts, const Grid &index) {
  return statisticsTile(*this, cuts, index);
}
Tile BatchNormGradStatsOp::tile(const Cuts &cuts, const Grid &index) {
  return statisticsTile(*this, cuts, index);
}

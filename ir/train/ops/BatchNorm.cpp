//===- BatchNorm.cpp - Batch normalization --------------------------------===//
//
// Batch normalization. train-decompose replaces batch_norm and batch_norm_grad
// by reductions per channel (batch_norm_stats, batch_norm_grad_stats) and maps.
// The reductions are kernels and are cut here; combining statistics of tiles is
// passes/shard/Combine.cpp.
//
// Statistics of images [n, c, h, w] are tensors [c, 1, 1], which broadcast over
// them. Those of groups of samples are [groups, c, 1, 1], cut like the samples:
// a tile has the groups that its samples meet. Where tiles meet in a group,
// both have a contribution to it.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

/// The groups that samples [begin, end) meet; `skip` samples lie before sample
/// 0 in its group.
static Interval groupsOf(int64_t begin, int64_t end, int64_t group,
                         int64_t skip) {
  return {(skip + begin) / group, (skip + end - 1) / group + 1};
}

static LogicalResult expectGroups(Operation *op, int64_t samples, int64_t group,
                                  int64_t skip) {
  if (group < 0 || skip < 0 || group > maxElements ||
      skip >= std::max<int64_t>(group, 1) || samples < 1)
    return op->emitOpError()
           << "has " << samples << " samples in groups of " << group << ", "
           << skip << " of the first left out; expected fewer than a group";
  return success();
}

/// Checks tensors of statistics of images `x`: [c, 1, ...], or
/// [groups, c, 1, ...] where there are groups.
static LogicalResult expectStatistics(Operation *op, Value x, int64_t group,
                                      int64_t skip, ValueRange statistics) {
  ArrayRef<int64_t> images = shapeOf(x);
  if (images.size() < 2)
    return op->emitOpError()
           << "input has rank " << images.size() << "; expected at least 2";
  if (failed(expectGroups(op, images[0], group, skip)))
    return failure();
  RankedTensorType expected = statisticsType(
      x, group > 0 ? groupsOf(0, images[0], group, skip).size() : 0);
  for (Value value : statistics)
    if (failed(expectShape(op, "statistic", value, Dims(expected.getShape()))))
      return failure();
  return success();
}

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
      {"new_mean", getNewMean()},
      {"new_variance", getNewVariance()}};
  for (auto [what, value] : perChannel)
    if (failed(expectShape(*this, what, value, {x[1]})))
      return failure();
  if (failed(expectStatistics(*this, getX(), getGroup(), 0,
                              {getMean(), getInvstd()})))
    return failure();
  if (getGroup() > 0 && x[0] % getGroup())
    return emitOpError() << "has " << x[0] << " samples; expected whole groups "
                         << "of " << getGroup();
  return expectShape(*this, "result", getY(), x);
}

LogicalResult BatchNormStatsOp::verify() {
  return expectStatistics(*this, getX(), getGroup(), getSkip(), getResults());
}

LogicalResult BatchNormGradStatsOp::verify() {
  if (failed(expectStatistics(*this, getDy(), getGroup(), getSkip(),
                              {getMean(), getInvstd()})))
    return failure();
  return expectStatistics(*this, getDy(), getGroup(), getSkip(), getResults());
}

LogicalResult RepeatOp::verify() {
  Dims expected(shapeOf(getX()));
  if (shapeOf(getY()).empty() || expected.empty())
    return emitOpError() << "expected tensors of samples";
  if (getGroup() < 1)
    return emitOpError() << "has a group of " << getGroup()
                         << " samples; expected at least 1";
  int64_t samples = shapeOf(getY())[0];
  if (failed(expectGroups(*this, samples, getGroup(), getSkip())))
    return failure();
  expected[0] = groupsOf(0, samples, getGroup(), getSkip()).size();
  if (failed(expectShape(*this, "operand", getX(), expected)))
    return failure();
  expected[0] = samples;
  return expectShape(*this, "result", getY(), expected);
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
                                      getMean(), getInvstd(), getGroupAttr());
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

/// Says which samples of its first group a tile lacks that begins at `sample`.
static void noteSkip(Operation *op, Tile &tile, int64_t sample, int64_t group) {
  Builder builder(op->getContext());
  tile.attributes.set("skip", builder.getI64IntegerAttr(sample % group));
}

/// The tile of an op whose first operands are images and whose others are
/// statistics of them.
template <typename OpT>
static Tile statisticsTile(OpT op, unsigned images, const Cuts &cuts,
                           const Grid &index) {
  assert(op.getSkip() == 0 && "only whole ops are cut");
  Value first = op->getOperand(0);
  Box box = cut(channelAxes(shapeOf(first).size()), first, cuts, index);
  Box statistics(box.begin() + 1, box.end());
  std::fill(statistics.begin() + 1, statistics.end(), Interval{0, 1});
  Tile tile;
  if (int64_t group = op.getGroup()) {
    statistics.insert(statistics.begin(),
                      groupsOf(box[0].begin, box[0].end, group, 0));
    noteSkip(op, tile, box[0].begin, group);
  }
  tile.operands.assign(images, box);
  tile.operands.resize(op->getNumOperands(), statistics);
  tile.results.assign(op->getNumResults(), statistics);
  return tile;
}

Grid BatchNormStatsOp::extents() { return statisticsExtents(getX()); }
Grid BatchNormGradStatsOp::extents() { return statisticsExtents(getDy()); }

Tile BatchNormStatsOp::tile(const Cuts &cuts, const Grid &index) {
  return statisticsTile(*this, /*images=*/1, cuts, index);
}
Tile BatchNormGradStatsOp::tile(const Cuts &cuts, const Grid &index) {
  return statisticsTile(*this, /*images=*/2, cuts, index);
}

Grid RepeatOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }

Tile RepeatOp::tile(const Cuts &cuts, const Grid &index) {
  Box out = cut(usualAxes(getY()), getY(), cuts, index), in = out;
  in[0] = groupsOf(out[0].begin, out[0].end, getGroup(), 0);
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  noteSkip(*this, tile, out[0].begin, getGroup());
  return tile;
}

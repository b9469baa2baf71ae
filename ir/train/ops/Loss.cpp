//===- Loss.cpp - Losses of class labels, and what is counted of them -----===//
//
// Losses over class labels, accuracy, and the ops that these become when
// classes are cut. Labels are [n, ...], logits [n, classes, ...]. Only one_hot
// and label_rank can run on a part of the classes; passes/shard/TakeApart.h
// replaces the losses first.
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

/// Checks labels [n, ...] and weight [c] against scores [n, c, ...].
static LogicalResult verifyLoss(Operation *op, Value scores, Value labels,
                                Value weight) {
  ArrayRef<int64_t> shape = shapeOf(scores);
  if (shape.size() < 2)
    return op->emitOpError()
           << "scores have rank " << shape.size() << "; expected at least 2";
  Dims expected(shape);
  expected.erase(expected.begin() + 1);
  if (failed(expectShape(op, "labels", labels, expected)))
    return failure();
  return weight ? expectShape(op, "weight", weight, {shape[1]}) : success();
}

/// Checks the number of the first class that an op has a part of.
static LogicalResult verifyFirstClass(Operation *op, int64_t first) {
  if (first >= 0 && first <= maxElements)
    return success();
  return op->emitOpError() << "first_class is " << first << "; expected 0 to "
                           << maxElements;
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyLoss(*this, getLogits(), getLabels(), getWeight())))
    return failure();
  return expectShape(*this, "probs", getProbs(), shapeOf(getLogits()));
}

LogicalResult NllLossOp::verify() {
  return verifyLoss(*this, getLogprobs(), getLabels(), getWeight());
}

LogicalResult OneHotOp::verify() {
  return verifyFirstClass(*this, getFirstClass());
}

LogicalResult LabelRankOp::verify() {
  return verifyFirstClass(*this, getFirstClass());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> CrossEntropyOp::buildGradients(OpBuilder &builder,
                                                  ArrayRef<Value> resultGrads,
                                                  ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), resultGrads[0], getProbs(),
        getLabels(), getWeight(), getIgnoreIndex(), getSum());
  return grads;
}

SmallVector<Value> NllLossOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = NllLossGradOp::create(builder, getLoc(), getLogprobs().getType(),
                                     resultGrads[0], getLabels(), getWeight(),
                                     getIgnoreIndex(), getSum());
  return grads;
}

//===----------------------------------------------------------------------===//
// Means over labels
//===----------------------------------------------------------------------===//

Value CrossEntropyOp::getScores() { return getLogits(); }
Value NllLossOp::getScores() { return getLogprobs(); }
Value CrossEntropyGradOp::getScores() { return getProbs(); }
Value NllLossGradOp::getScores() { return getDlogprobs(); }
OpOperand *CrossEntropyGradOp::getLossGradient() { return &getDlossMutable(); }
OpOperand *NllLossGradOp::getLossGradient() { return &getDlossMutable(); }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The dimensions of labels: those of logits without the second, the classes.
static Axes labelAxes(size_t rank) {
  Axes axes = channelAxes(rank + 1);
  axes.erase(axes.begin() + 1);
  return axes;
}

static Grid logitsExtents(Value logits) {
  return extentsAlong(channelAxes(shapeOf(logits).size()), logits);
}

/// The tile of an op on labels. Tensors with one dimension more than labels
/// have the classes second (logits, one-hot); all others (scalars, counts,
/// class weights) are whole.
static Tile lossTile(Operation *op, Value labels, const Cuts &cuts,
                     const Grid &index) {
  size_t rank = shapeOf(labels).size();
  auto regionOf = [&](Value value) -> Box {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (value == labels)
      return cut(labelAxes(rank), value, cuts, index);
    if (shape.size() != rank + 1)
      return wholeOf(value);
    Axes axes = channelAxes(rank + 1);
    if (shape[1] == 1) // one number for all classes
      axes[1] = none;
    return cut(axes, value, cuts, index);
  };
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(regionOf(operand));
  for (Value result : op->getResults())
    tile.results.push_back(regionOf(result));
  return tile;
}

/// The tile of an op whose attribute first_class says which classes its part of
/// `classes` begins with.
template <typename OpT>
static Tile firstClassTile(OpT op, Value classes, const Cuts &cuts,
                           const Grid &index) {
  Tile tile = lossTile(op, op.getLabels(), cuts, index);
  Box part = cut(channelAxes(shapeOf(classes).size()), classes, cuts, index);
  tile.attributes.set(
      op.getFirstClassAttrName(),
      IntegerAttr::get(IntegerType::get(op.getContext(), 64), part[1].begin));
  return tile;
}

Grid CrossEntropyOp::extents() { return logitsExtents(getLogits()); }
Grid CrossEntropyGradOp::extents() { return logitsExtents(getProbs()); }
Grid NllLossOp::extents() { return logitsExtents(getLogprobs()); }
Grid NllLossGradOp::extents() { return logitsExtents(getDlogprobs()); }
Grid AccuracyOp::extents() { return logitsExtents(getLogits()); }
Grid OneHotOp::extents() { return logitsExtents(getY()); }
Grid LabelRankOp::extents() { return logitsExtents(getLogits()); }
Grid LossWeightOp::extents() {
  return extentsAlong(labelAxes(shapeOf(getLabels()).size()), getLabels());
}

Tile CrossEntropyOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile CrossEntropyGradOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile NllLossOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile NllLossGradOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile AccuracyOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile LossWeightOp::tile(const Cuts &cuts, const Grid &index) {
  return lossTile(*this, getLabels(), cuts, index);
}
Tile OneHotOp::tile(const Cuts &cuts, const Grid &index) {
  return firstClassTile(*this, getY(), cuts, index);
}
Tile LabelRankOp::tile(const Cuts &cuts, const Grid &index) {
  return firstClassTile(*this, getLogits(), cuts, index);
}

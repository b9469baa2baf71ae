//===- TakeApart.cpp - What a tile cannot do alone ------------------------===//
//
// Two ops do in one call what their tiles can only do together: a product with
// a fused ReLU, which must not be taken of partial sums, and a mean of losses,
// which divides by something of all samples. Where such an op is cut that way,
// it becomes one that can be cut and what must be done with the sum.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/OpRules.h"
#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

static MapOp mapLike(OpBuilder &builder, Operation *op, Value like,
                     const char *text, ValueRange inputs) {
  MapOp map =
      buildMap(builder, op->getLoc(), cast<RankedTensorType>(like.getType()),
               llvm::cantFail(Expression::parse(text)), inputs);
  setLayer(map, layerOf(op), phaseOf(op));
  setNames(map, {nameOf(like)});
  map->setAttr(tilingAttr, op->getAttr(tilingAttr));
  return map;
}

template <typename OpT>
static void splitOffRelu(OpT op) {
  op.setRelu(false);
  Value result = op->getResult(0);
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  MapOp relu = mapLike(builder, op, result, "max(x0, 0.0f)", {result});
  result.replaceAllUsesExcept(relu.getY(), relu);
}

/// What the mean of the losses divides by.
static Value divisorOf(OpBuilder &builder, Operation *op, Value labels,
                       Value weight, int64_t ignoreIndex) {
  auto divisor = LossWeightOp::create(
      builder, op->getLoc(), tensorOf(op->getContext(), {}), labels, weight,
      shapeOf(logitsOf(op))[1], ignoreIndex);
  setLayer(divisor, layerOf(op), phaseOf(op));
  setNames(divisor, {"loss_weight"});
  divisor->setAttr(tilingAttr, op->getAttr(tilingAttr));
  return divisor.getSum();
}

/// With no label that counts, the loss and its gradient are 0.
static constexpr const char *quotient = "x1 > 0.0f ? x0 / x1 : 0.0f";

template <typename OpT>
static void splitOffMean(OpT op) {
  op.setSum(true);
  OpBuilder builder(op);
  Value divisor = divisorOf(builder, op, op.getLabels(), op.getWeight(),
                            op.getIgnoreIndex());
  builder.setInsertionPointAfter(op);
  Value sum = op.getLoss();
  MapOp mean = mapLike(builder, op, sum, quotient, {sum, divisor});
  sum.replaceAllUsesExcept(mean.getY(), mean);
}

template <typename OpT>
static void splitOffMeanGrad(OpT op) {
  op.setSum(true);
  OpBuilder builder(op);
  Value divisor = divisorOf(builder, op, op.getLabels(), op.getWeight(),
                            op.getIgnoreIndex());
  Value dloss = op.getDloss();
  op.getDlossMutable().assign(
      mapLike(builder, op, dloss, quotient, {dloss, divisor}).getY());
}

void shard::takeApart(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling)
      continue;
    Cuts cuts = cutsOf(&op, cutsOf(tiling));
    if (cuts.none())
      continue;
    bool partialSums = cuts.degrees[k] > 1;
    TypeSwitch<Operation *>(&op)
        .Case<ConvOp, MatMulOp>([&](auto op) {
          if (op.getRelu() && partialSums)
            splitOffRelu(op);
        })
        .Case<CrossEntropyOp, NllLossOp>([](auto op) {
          if (!op.getSum())
            splitOffMean(op);
        })
        .Case<CrossEntropyGradOp, NllLossGradOp>([](auto op) {
          if (!op.getSum())
            splitOffMeanGrad(op);
        });
  }
}

//===- TakeClassesApart.cpp - Losses and softmax, cut along classes -------===//
//
// Cuts softmax, cross entropy, their gradients and accuracy along the class
// dimension, so that the scores of a wide classifier stay distributed
// (vocabulary-parallel cross entropy in Megatron-LM, Shoeybi et al. 2019, is
// the same method).
//
// Labels become a one-hot tensor, of which each tile makes its own classes. All
// else is then elementwise ops, maxima and sums over classes, which are cut
// like any other op. Devices exchange a few numbers per sample: maximum, sum of
// powers, and the score of the label.
//
// Does not decide whether the classes are cut (the plan), nor which ops need
// this (TakeApart.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/shard/TakeApart.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

static SmallVector<int64_t> allAxesOf(Value value) {
  SmallVector<int64_t> axes(shapeOf(value).size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

static Value oneHotLike(Substitute &make, Value logits, Value labels,
                        int64_t ignoreIndex) {
  return make
      .create<OneHotOp>("one_hot", logits.getType(), labels, /*first_class=*/0,
                        ignoreIndex)
      .getY();
}

/// The one-hot tensor with each class's weight in place of 1.
static Value weightsOf(Substitute &make, Value oneHot, Value weight) {
  if (!weight)
    return oneHot;
  // [c] must be [c, 1, 1] to be broadcast over images.
  auto type = cast<RankedTensorType>(oneHot.getType());
  SmallVector<int64_t> shape(type.getRank() - 1, 1);
  shape[0] = type.getDimSize(1);
  if (shape.size() > 1)
    weight = make.create<ReshapeOp>("weight",
                                    tensorOf(type.getContext(), shape), weight)
                 .getY();
  return make.map("label_weight", "x0 * x1", {oneHot, weight});
}

/// The loss, computed from log-probabilities.
static Value lossOf(Substitute &make, LabelLossOpInterface op, Value logprobs) {
  Value oneHot =
      oneHotLike(make, logprobs, op.getLabels(), op.getIgnoreIndex());
  Value weights = weightsOf(make, oneHot, op.getWeight());
  // Only the label's own class is selected, since the logarithm of another
  // class may be infinite. The test is on the one-hot tensor, not on the
  // weight: a NaN of a label with weight 0 still reaches the loss.
  Value each = make.map("losses", "x0 != 0.0f ? -x1 * x2 : 0.0f",
                        {oneHot, weights, logprobs});
  Value sum = make.sum(nameOf(op->getResult(0)), each, allAxesOf(each), false);
  if (op.getSum())
    return sum;
  return overDivisor(make, nameOf(sum), sum, divisorOf(make, op));
}

/// Two factors of the loss's gradient: the gradient of the total by one
/// sample's loss, and the one-hot tensor times the class weights.
static std::pair<Value, Value>
lossGradientOf(Substitute &make, LabelLossOpInterface op, Value like) {
  Value weights = weightsOf(
      make, oneHotLike(make, like, op.getLabels(), op.getIgnoreIndex()),
      op.getWeight());
  Value scale = op.getLossGradient()->get();
  if (!op.getSum())
    scale = overDivisor(make, nameOf(scale), scale, divisorOf(make, op));
  return {scale, weights};
}

/// Softmax of each row less its largest element, so that exp does not overflow.
static Value softmaxOf(Substitute &make, StringRef name, Value x, int64_t axis,
                       bool log) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 1;
  Value largest =
      make.create<ReduceMaxOp>("largest", tensorOf(type.getContext(), shape), x,
                               axis)
          .getY();
  Value powers = make.map("powers", "exp(x0 - x1)", {x, largest});
  Value total = make.sum("total", powers, {axis}, true);
  return log ? make.map(name, "x0 - x1 - log(x2)", {x, largest, total})
             : make.map(name, "x0 / x1", {powers, total});
}

static void takeApart(SoftmaxOp op) {
  Substitute make(op);
  op.getY().replaceAllUsesWith(
      softmaxOf(make, nameOf(op.getY()), op.getX(), op.getAxis(), op.getLog()));
}

static void takeApart(CrossEntropyOp op) {
  Substitute make(op);
  Value logprobs = softmaxOf(make, "logprobs", op.getLogits(), /*axis=*/1,
                             /*log=*/true);
  op.getLoss().replaceAllUsesWith(lossOf(make, op, logprobs));
  if (!op.getProbs().use_empty())
    op.getProbs().replaceAllUsesWith(
        make.map(nameOf(op.getProbs()), "exp(x0)", {logprobs}));
}

static void takeApart(NllLossOp op) {
  Substitute make(op);
  op.getLoss().replaceAllUsesWith(lossOf(make, op, op.getLogprobs()));
}

static void takeApart(CrossEntropyGradOp op) {
  Substitute make(op);
  auto [scale, weights] = lossGradientOf(make, op, op.getProbs());
  Value own = make.sum("own_weight", weights, {1}, true);
  op.getDlogits().replaceAllUsesWith(
      make.map(nameOf(op.getDlogits()), "x0 * (x1 * x2 - x3)",
               {scale, own, op.getProbs(), weights}));
}

static void takeApart(NllLossGradOp op) {
  Substitute make(op);
  auto [scale, weights] = lossGradientOf(make, op, op.getDlogprobs());
  op.getDlogprobs().replaceAllUsesWith(
      make.map(nameOf(op.getDlogprobs()), "-x0 * x1", {scale, weights}));
}

static void takeApart(AccuracyOp op) {
  Substitute make(op);
  Value oneHot =
      oneHotLike(make, op.getLogits(), op.getLabels(), /*ignoreIndex=*/-1);
  Value own = make.sum("own_logit",
                       make.map("label_logit", "x0 > 0.0f ? x1 : 0.0f",
                                {oneHot, op.getLogits()}),
                       {1}, true);
  Value rank = make.create<LabelRankOp>("label_rank", own.getType(),
                                        op.getLogits(), own, op.getLabels())
                   .getRank();
  Value hits[] = {make.map("top1", "x0 < 1.0f ? 1.0f : 0.0f", {rank}),
                  make.map("top5", "x0 < 5.0f ? 1.0f : 0.0f", {rank})};
  SmallVector<int64_t> both = llvm::to_vector(shapeOf(rank));
  both[1] = 2;
  Value joined = make.create<ConcatOp>("hits", tensorOf(op.getContext(), both),
                                       ValueRange(hits), /*axis=*/1)
                     .getY();
  SmallVector<int64_t> axes = allAxesOf(joined);
  axes.erase(axes.begin() + 1);
  op.getCounts().replaceAllUsesWith(
      make.sum(nameOf(op.getCounts()), joined, axes, false));
}

static void takeApart(SoftmaxGradOp op) {
  Substitute make(op);
  Value dy = op.getDy(), y = op.getY();
  int64_t axis = op.getAxis();
  Value result;
  if (op.getLog()) {
    result = make.map(nameOf(op.getDx()), "x0 - exp(x1) * x2",
                      {dy, y, make.sum("total", dy, {axis}, true)});
  } else {
    Value products = make.map("products", "x0 * x1", {dy, y});
    result = make.map(nameOf(op.getDx()), "x1 * (x0 - x2)",
                      {dy, y, make.sum("total", products, {axis}, true)});
  }
  op.getDx().replaceAllUsesWith(result);
}

void shard::takeClassesApart(ClassesOpInterface op) {
  TypeSwitch<Operation *>(op)
      .Case<CrossEntropyOp, NllLossOp, CrossEntropyGradOp, NllLossGradOp,
            AccuracyOp, SoftmaxOp, SoftmaxGradOp>(
          [](auto op) { ::takeApart(op); })
      .Default([](Operation *) { llvm_unreachable("no way to cut classes"); });
  op->erase();
}

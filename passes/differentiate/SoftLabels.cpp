//===- SoftLabels.cpp - Cross entropy of distributions --------------------===//

#include "passes/differentiate/SoftLabels.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

Value train::buildSoftLoss(OpBuilder &builder, Value scores,
                           const SoftLabels &soft, StringRef layer) {
  MLIRContext *context = builder.getContext();
  Location loc = scores.getLoc();
  const int64_t classes = typeOf(scores).getDimSize(1);
  auto named = [&](StringRef name, Operation *op) {
    setWork(op, layer, Phase::forward);
    setNames(op, {name});
    return op->getResult(0);
  };
  Value logprobs =
      named("logprobs", SoftmaxOp::create(builder, loc, scores.getType(),
                                          scores, /*axis=*/1, /*log=*/true));
  auto number = [&](StringRef name, double value) {
    return builder.getNamedAttr(
        name, builder.getF32FloatAttr(static_cast<float>(value)));
  };
  Value each = named(
      "losses",
      buildMap(builder, loc, "soft_cross_entropy", {logprobs, soft.shares},
               builder.getDictionaryAttr(
                   {number("own", 1 - soft.smoothing),
                    number("any", soft.smoothing / double(classes))})));
  if (soft.weights)
    each = named("weighted_losses",
                 buildMap(builder, loc, "mul", {each, soft.weights}));
  Value sum =
      named("loss_sum", ReduceOp::create(builder, loc, tensorOf(context, {}),
                                         each, ArrayRef<int64_t>{0, 1},
                                         /*mean=*/false));
  constexpr int64_t noIndex = -100;
  Value count =
      named("loss_count",
            LossWeightOp::create(builder, loc, tensorOf(context, {}),
                                 soft.labels, Value(), classes, noIndex));
  return named("loss", buildMap(builder, loc, "div", {sum, count}));
}

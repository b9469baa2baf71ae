//===- LabelSmoothing.cpp - Cross entropy of smoothed labels --------------===//

#include "passes/differentiate/LabelSmoothing.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

bool train::isOfClasses(Value loss) {
  return isa_and_nonnull<CrossEntropyOp, NllLossOp>(loss.getDefiningOp());
}

namespace {
/// Makes ops of the layer of a loss, behind it.
class Smoother {
public:
  Smoother(OpBuilder &builder, LabelLossOpInterface loss)
      : builder(builder), loss(loss), context(loss.getContext()) {}

  Value run(double amount);

private:
  Value named(Operation *op, StringRef name) {
    setWork(op, layerOf(loss), Phase::forward);
    setNames(op, {name});
    return op->getResult(0);
  }
  Value map(StringRef name, StringRef row, ArrayRef<Value> inputs) {
    return named(buildMap(builder, loss.getLoc(), row, inputs), name);
  }
  Value scale(StringRef name, Value x, double alpha) {
    auto params = builder.getDictionaryAttr(builder.getNamedAttr(
        "alpha", builder.getF32FloatAttr(static_cast<float>(alpha))));
    return named(buildMap(builder, loss.getLoc(), "scale", {x}, params), name);
  }
  Value sum(StringRef name, ArrayRef<int64_t> shape, Value x,
            ArrayRef<int64_t> axes) {
    return named(ReduceOp::create(builder, loss.getLoc(),
                                  tensorOf(context, shape), x, axes,
                                  /*mean=*/false),
                 name);
  }
  /// [n, c, ...]
  Value logProbabilities();
  /// [n, 1, ...]: 1 where a sample's label counts, else 0.
  Value isLabelled(Type scores);
  /// [c, 1, ...], to be broadcast over samples; null: all 1.
  Value classWeights(int64_t rank);

  OpBuilder &builder;
  LabelLossOpInterface loss;
  MLIRContext *context;
};
} // namespace

Value Smoother::logProbabilities() {
  if (isa<NllLossOp>(loss))
    return loss.getScores();
  Value scores = loss.getScores();
  return named(SoftmaxOp::create(builder, loss.getLoc(), scores.getType(),
                                 scores, /*axis=*/1, /*log=*/true),
               "logprobs");
}

Value Smoother::isLabelled(Type scores) {
  Value oneHot =
      named(OneHotOp::create(builder, loss.getLoc(), scores, loss.getLabels(),
                             /*first_class=*/0, loss.getIgnoreIndex()),
            "one_hot");
  SmallVector<int64_t> shape(typeOf(oneHot).getShape());
  shape[1] = 1;
  return sum("labelled", shape, oneHot, {1});
}

Value Smoother::classWeights(int64_t rank) {
  Value weight = loss.getWeight();
  if (!weight || rank == 2)
    return weight;
  SmallVector<int64_t> shape(rank - 1, 1);
  shape[0] = typeOf(weight).getDimSize(0);
  return named(ReshapeOp::create(builder, loss.getLoc(),
                                 tensorOf(context, shape), weight),
               "class_weights");
}

Value Smoother::run(double amount) {
  Value logprobs = logProbabilities();
  RankedTensorType type = typeOf(logprobs);
  const int64_t classes = type.getDimSize(1);
  Value each = map("any_class.each", "mul", {logprobs, isLabelled(type)});
  if (Value weights = classWeights(type.getRank()))
    each = map("any_class.weighted", "mul", {each, weights});
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value anyClass = sum("any_class.sum", {}, each, axes);
  if (!loss.getSum()) {
    Value divisor = named(
        LossWeightOp::create(builder, loss.getLoc(), tensorOf(context, {}),
                             loss.getLabels(), loss.getWeight(), classes,
                             loss.getIgnoreIndex()),
        "label_weight");
    anyClass = map("any_class", "div", {anyClass, divisor});
  }
  return map("smoothed_loss", "sub",
             {scale("label_share", loss->getResult(0), 1 - amount),
              scale("any_class_share", anyClass, amount / double(classes))});
}

Value train::smoothLabels(OpBuilder &builder, Value loss, double amount) {
  return Smoother(builder, cast<LabelLossOpInterface>(loss.getDefiningOp()))
      .run(amount);
}

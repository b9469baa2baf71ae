//===- NumberLoss.cpp - Losses of numbers against targets -----------------===//

#include "passes/differentiate/NumberLoss.h"

#include "ir/train/Expression.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {
/// Makes the ops of a layer.
class LayerBuilder {
public:
  LayerBuilder(OpBuilder &builder, Location loc, StringRef layer)
      : builder(builder), loc(loc), layer(layer) {}

  Value map(StringRef text, RankedTensorType type, StringRef expression,
            ValueRange inputs) {
    return named(text, buildMap(builder, loc, type,
                                llvm::cantFail(Expression::parse(expression)),
                                inputs));
  }
  Value row(StringRef text, StringRef row, ValueRange inputs) {
    return named(text, buildMap(builder, loc, row, inputs));
  }
  Value sum(StringRef text, Value x) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
    return named(text, ReduceOp::create(builder, loc,
                                        tensorOf(builder.getContext(), {}), x,
                                        axes, /*mean=*/false));
  }
  /// The sum of an expression of the output x0 and the targets x1.
  Value sumOfEach(StringRef text, StringRef expression, Value output,
                  Value targets) {
    return sum(text, map((text + ".each").str(), typeOf(output), expression,
                         {output, targets}));
  }
  /// A number as a list of one.
  Value list(StringRef text, Value number) {
    return named(text, ReshapeOp::create(builder, loc,
                                         tensorOf(builder.getContext(), {1}),
                                         number));
  }
  Value named(StringRef text, Operation *op) {
    setWork(op, layer, Phase::forward);
    setNames(op, {text});
    return op->getResult(0);
  }

private:
  OpBuilder &builder;
  Location loc;
  StringRef layer;
};
} // namespace

/// What is counted beside a loss whose sum is known, as it may be it.
static std::pair<Value, Value> countsOf(LayerBuilder &make, const Loss &loss,
                                        Value lossSum, Value output,
                                        Value targets) {
  auto sum = [&](StringRef expression, StringRef text) {
    return make.sumOfEach(text, expression, output, targets);
  };
  if (loss.name == "bce") {
    // What is nearer to 1 is a 1.
    Value right = sum("x1 == x1 ? (x0 > 0.0f ? (x1 > 0.5f ? 1.0f : 0.0f) : "
                      "(x1 > 0.5f ? 0.0f : 1.0f)) : 0.0f",
                      "right");
    return {right, right};
  }
  if (loss.name == "output")
    return {lossSum, lossSum};
  Value absolute = loss.name == "l1"
                       ? lossSum
                       : sum("x1 == x1 ? abs(x0 - x1) : 0.0f", "errors");
  Value squared =
      loss.name == "mse"
          ? lossSum
          : sum("x1 == x1 ? (x0 - x1) * (x0 - x1) : 0.0f", "squared_errors");
  return {absolute, squared};
}

NumberLoss train::buildNumberLoss(OpBuilder &builder, Location loc,
                                  const Loss &loss, Value output, Value targets,
                                  StringRef layer) {
  LayerBuilder make(builder, loc, layer);
  Value each = make.row("losses", loss.row, {output, targets});
  Value given =
      make.map("given", typeOf(targets), "x0 == x0 ? 1.0f : 0.0f", {targets});
  Value sum = make.sum("loss_sum", each);
  return {sum, make.row("loss", "div", {sum, make.sum("loss_count", given)})};
}

Value train::buildCounts(OpBuilder &builder, Location loc, const Loss &loss,
                         Value lossSum, Value output, Value targets,
                         StringRef layer) {
  LayerBuilder make(builder, loc, layer);
  auto [first, second] = countsOf(make, loss, lossSum, output, targets);
  Value both[] = {make.list("first_count", first),
                  make.list("second_count", second)};
  return make.named("counts",
                    ConcatOp::create(builder, loc,
                                     tensorOf(builder.getContext(), {2}),
                                     ValueRange(both), /*axis=*/0));
}

MapOp train::numberLossOf(func::FuncOp func) {
  auto asked = func->getParentOp()->getAttrOfType<StringAttr>(lossNameAttr);
  if (!asked)
    return {};
  // No operator of ONNX becomes such a row.
  StringRef row = findLoss(asked.getValue())->row;
  MapOp found;
  for (auto map : func.getBody().getOps<MapOp>())
    if (map.getFn() == row)
      found = map;
  return found;
}

Value train::withoutSigmoid(OpBuilder &builder, Value output) {
  Operation *op = output.getDefiningOp();
  if (auto map = dyn_cast_or_null<MapOp>(op); map && map.getFn() == "sigmoid")
    return map.getInputs()[0];
  if (!isa_and_nonnull<ReshapeOp, TransposeOp>(op))
    return output;
  Value before = withoutSigmoid(builder, op->getOperand(0));
  if (before == op->getOperand(0))
    return output;
  IRMapping moved;
  moved.map(op->getOperand(0), before);
  return builder.clone(*op, moved)->getResult(0);
}

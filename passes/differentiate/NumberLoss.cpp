//===- NumberLoss.cpp - Losses of numbers against targets -----------------===//

#include "passes/differentiate/NumberLoss.h"

#include "ir/train/Expression.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static constexpr StringLiteral lossLayerName = "loss";

static void name(Operation *op, StringRef name) {
  setWork(op, lossLayerName, Phase::forward);
  setNames(op, {name});
}

static Value sumOf(OpBuilder &builder, Location loc, Value x, StringRef text) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  auto sum = ReduceOp::create(builder, loc, tensorOf(builder.getContext(), {}),
                              x, axes, /*mean=*/false);
  name(sum, text);
  return sum;
}

/// The sum of an expression of the output x0 and the targets x1.
static Value sumOfEach(OpBuilder &builder, Location loc, Value output,
                       Value targets, StringRef expression, StringRef text) {
  auto each = buildMap(builder, loc, typeOf(output),
                       llvm::cantFail(Expression::parse(expression)),
                       {output, targets});
  name(each, (text + ".each").str());
  return sumOf(builder, loc, each, text);
}

/// What is counted beside a loss whose sum is known, as it may be it.
static std::pair<Value, Value> countsOf(OpBuilder &builder, Location loc,
                                        const Loss &loss, Value lossSum,
                                        Value output, Value targets) {
  auto sum = [&](StringRef expression, StringRef text) {
    return sumOfEach(builder, loc, output, targets, expression, text);
  };
  if (loss.name == "bce") {
    // What is nearer to 1 is a 1.
    Value right = sum("x1 == x1 ? (x0 > 0.0f ? (x1 > 0.5f ? 1.0f : 0.0f) : "
                      "(x1 > 0.5f ? 0.0f : 1.0f)) : 0.0f",
                      "right");
    return {right, right};
  }
  Value absolute = loss.name == "l1"
                       ? lossSum
                       : sum("x1 == x1 ? abs(x0 - x1) : 0.0f", "errors");
  Value squared =
      loss.name == "mse"
          ? lossSum
          : sum("x1 == x1 ? (x0 - x1) * (x0 - x1) : 0.0f", "squared_errors");
  return {absolute, squared};
}

/// A number as a list of one.
static Value listOf(OpBuilder &builder, Location loc, Value number,
                    StringRef text) {
  auto list = ReshapeOp::create(builder, loc,
                                tensorOf(builder.getContext(), {1}), number);
  name(list, text);
  return list;
}

NumberLoss train::buildNumberLoss(OpBuilder &builder, Location loc,
                                  const Loss &loss, Value output,
                                  Value targets) {
  MapOp each = buildMap(builder, loc, loss.row, {output, targets});
  name(each, "losses");
  MapOp given = buildMap(
      builder, loc, typeOf(targets),
      llvm::cantFail(Expression::parse("x0 == x0 ? 1.0f : 0.0f")), {targets});
  name(given, "given");
  Value lossSum = sumOf(builder, loc, each, "loss_sum");
  MapOp mean = buildMap(builder, loc, "div",
                        {lossSum, sumOf(builder, loc, given, "loss_count")});
  name(mean, "loss");
  auto [first, second] = countsOf(builder, loc, loss, lossSum, output, targets);
  Value both[] = {listOf(builder, loc, first, "first_count"),
                  listOf(builder, loc, second, "second_count")};
  auto counts =
      ConcatOp::create(builder, loc, tensorOf(builder.getContext(), {2}),
                       ValueRange(both), /*axis=*/0);
  name(counts, "counts");
  return {mean, counts};
}

MapOp train::numberLossOf(func::FuncOp func) {
  auto asked = func->getParentOp()->getAttrOfType<StringAttr>(lossNameAttr);
  if (!asked)
    return {};
  // No operator of ONNX becomes such a row.
  StringRef row = findLoss(asked.getValue())->row;
  for (auto map : func.getBody().getOps<MapOp>())
    if (map.getFn() == row)
      return map;
  return {};
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

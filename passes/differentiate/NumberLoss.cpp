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

/// Sums an expression of the output x0 and the targets x1, as a list of one.
static Value countOf(OpBuilder &builder, Location loc, Value output,
                     Value targets, StringRef expression, StringRef text) {
  auto each = buildMap(builder, loc, typeOf(output),
                       llvm::cantFail(Expression::parse(expression)),
                       {output, targets});
  name(each, (text + ".each").str());
  Value sum = sumOf(builder, loc, each, text);
  auto list =
      ReshapeOp::create(builder, loc, tensorOf(builder.getContext(), {1}), sum);
  name(list, (text + ".list").str());
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
  MapOp mean = buildMap(builder, loc, "div",
                        {sumOf(builder, loc, each, "loss_sum"),
                         sumOf(builder, loc, given, "loss_count")});
  name(mean, "loss");
  StringRef first = "x1 == x1 ? abs(x0 - x1) : 0.0f";
  StringRef second = "x1 == x1 ? (x0 - x1) * (x0 - x1) : 0.0f";
  if (loss.name == "bce")
    // What is nearer to 1 is a 1.
    first = second = "x1 == x1 ? (x0 > 0.0f ? (x1 > 0.5f ? 1.0f : 0.0f) : "
                     "(x1 > 0.5f ? 0.0f : 1.0f)) : 0.0f";
  Value both[] = {
      countOf(builder, loc, output, targets, first, "first_count"),
      countOf(builder, loc, output, targets, second, "second_count")};
  auto counts =
      ConcatOp::create(builder, loc, tensorOf(builder.getContext(), {2}),
                       ValueRange(both), /*axis=*/0);
  name(counts, "counts");
  return {mean, counts};
}

MapOp train::numberLossOf(func::FuncOp func) {
  for (auto map : func.getBody().getOps<MapOp>())
    if (layerOf(map) == lossLayerName && nameOf(map) == "losses")
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

//===- Decompose.cpp - batch_norm and dropout as kernels and maps ---------===//
//
// Replaces layers by kernels and maps, which gives the form `differentiated`.
// Batch normalization becomes a kernel for the statistics and elementwise maps
// for the rest, which fuse with their neighbours (Fuse.cpp). Dropout becomes a
// map. The backward pass computes the mask anew, so that no mask is stored.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/differentiate/BatchNorm.h"

#include "llvm/ADT/TypeSwitch.h"

namespace lwcc {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// "conv1.mean" of a result named "conv1", "" of one without a name.
std::string derivedName(Value value, StringRef suffix) {
  StringRef name = nameOf(value);
  return name.empty() ? "" : (name + "." + suffix).str();
}

/// The number of elements that a statistic of a channel is made of; `group` is
/// the number of samples, 0 for all.
int64_t countOf(Value x, int64_t group) {
  RankedTensorType type = typeOf(x);
  int64_t samples = group ? group : type.getDimSize(0);
  return type.getNumElements() / type.getDimSize(0) / type.getDimSize(1) *
         samples;
}

/// What statistics have per channel, as [c]: summed over the groups, if there
/// are any.
Value sumOfGroups(OpBuilder &builder, Value value, int64_t group,
                  StringRef name, Operation *layer) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == 1)
    return value;
  RankedTensorType perChannel =
      tensorOf(builder.getContext(), {type.getDimSize(group ? 1 : 0)});
  Operation *made;
  if (group) {
    SmallVector<int64_t> axes{0};
    for (int64_t axis = 2; axis < type.getRank(); ++axis)
      axes.push_back(axis);
    made = ReduceOp::create(builder, layer->getLoc(), perChannel, value, axes,
                            /*mean=*/false);
  } else {
    made = ReshapeOp::create(builder, layer->getLoc(), perChannel, value);
  }
  inheritWork(made, layer, phaseOf(layer));
  if (!name.empty())
    setNames(made, {name});
  return made->getResult(0);
}

/// The decimal number that a float was written as: 0.9 for the float next to
/// it. Then 1 - momentum is PyTorch's 0.1.
double decimalOf(const APFloat &value) {
  std::string text = floatLiteral(value.convertToFloat());
  return std::strtod(text.c_str(), nullptr);
}

/// running = keep * running + take * batch, where the batch's is the mean over
/// its groups.
void replaceAverage(OpBuilder &builder, BatchNormOp op, Value updated,
                    Value running, Value batch, double unbiased) {
  if (updated.use_empty())
    return;
  double momentum = decimalOf(op.getMomentum());
  if (op.getGroup())
    unbiased /= static_cast<double>(typeOf(batch).getDimSize(0));
  StringRef batchName = nameOf(batch),
            suffix = op.getGroup() ? ".sum" : ".flat";
  batch = sumOfGroups(builder, batch, op.getGroup(),
                      batchName.empty() ? "" : (batchName + suffix).str(), op);
  MapOp map = buildMap(
      builder, op.getLoc(), "running_average", {running, batch},
      floatParams(op.getContext(),
                  {{"keep", momentum}, {"take", (1 - momentum) * unbiased}}));
  inheritWork(map, op, phaseOf(op));
  if (StringRef name = nameOf(running); !name.empty())
    setNames(map, {("new_" + name).str()});
  updated.replaceAllUsesWith(map);
}

LogicalResult decompose(BatchNormOp op) {
  double count = countOf(op.getX(), op.getGroup());
  if (count < 2) {
    InFlightDiagnostic error =
        op.emitError("batch normalization needs more than one value per "
                     "channel to train; found an input of ");
    error << op.getX().getType();
    if (op.getGroup())
      return error << " in groups of one sample (use larger groups)";
    return error << " (use a larger batch)";
  }
  OpBuilder builder(op);
  Type type = op.getMean().getType();
  auto stats = BatchNormStatsOp::create(
      builder, op.getLoc(), type, type, type, op.getX(), op.getEpsilonAttr(),
      op.getGroupAttr(), builder.getI64IntegerAttr(0));
  inheritWork(stats, op, phaseOf(op));
  std::string names[] = {derivedName(op.getY(), "mean"),
                         derivedName(op.getY(), "variance"),
                         derivedName(op.getY(), "invstd")};
  setNames(stats, {names[0], names[1], names[2]});
  MapOp apply = applyBatchNorm(builder, op, stats.getMean(), stats.getInvstd());
  replaceAverage(builder, op, op.getNewMean(), op.getRunningMean(),
                 stats.getMean(), 1.0);
  replaceAverage(builder, op, op.getNewVariance(), op.getRunningVariance(),
                 stats.getVariance(), count / (count - 1));
  op.getY().replaceAllUsesWith(apply);
  op.getMean().replaceAllUsesWith(stats.getMean());
  op.getInvstd().replaceAllUsesWith(stats.getInvstd());
  op.erase();
  return success();
}

LogicalResult decompose(BatchNormGradOp op) {
  OpBuilder builder(op);
  Type type = op.getMean().getType();
  auto stats = BatchNormGradStatsOp::create(
      builder, op.getLoc(), type, type, op.getDy(), op.getX(), op.getMean(),
      op.getInvstd(), op.getGroupAttr(), builder.getI64IntegerAttr(0));
  inheritWork(stats, op, phaseOf(op));
  std::string dscale(nameOf(op.getDscale())), dbias(nameOf(op.getDbias()));
  std::string suffix = op.getGroup() ? ".groups" : ".per_channel";
  setNames(stats, {dscale.empty() ? "" : dscale + suffix,
                   dbias.empty() ? "" : dbias + suffix});
  if (!op.getDx().use_empty()) {
    SmallVector<Value> inputs{op.getDy(), op.getX()};
    const Value channels[] = {op.getMean(), op.getInvstd(), op.getScale(),
                              stats.getDscale(), stats.getDbias()};
    for (Value value : channels)
      inputs.push_back(
          perChannel(builder, value, op.getX(), op.getGroup(), op));
    MapOp map = buildMap(
        builder, op.getLoc(), "batch_norm_grad_input", inputs,
        floatParams(op.getContext(),
                    {{"inv_count", 1.0 / countOf(op.getX(), op.getGroup())}}));
    inheritWork(map, op, phaseOf(op));
    if (StringRef name = nameOf(op.getDx()); !name.empty())
      setNames(map, {name});
    op.getDx().replaceAllUsesWith(map);
  }
  const std::pair<Value, Value> parameters[] = {
      {op.getDscale(), stats.getDscale()}, {op.getDbias(), stats.getDbias()}};
  for (auto [gradient, groups] : parameters)
    if (!gradient.use_empty())
      gradient.replaceAllUsesWith(
          sumOfGroups(builder, groups, op.getGroup(), nameOf(gradient), op));
  op.erase();
  return success();
}

LogicalResult decompose(DropoutOp op) {
  Value y = op.getX();
  if (!op.getRatio().isZero()) {
    OpBuilder builder(op);
    Expression stream{Expression::Kind::stream};
    stream.stream = static_cast<uint32_t>(op.getStream());
    Expression mask{Expression::Kind::call};
    mask.op = "dropout_mask";
    mask.args = {Expression::literalOf(op.getRatio().convertToDouble()),
                 stream};
    Expression product{Expression::Kind::binary};
    product.op = "*";
    product.args = {Expression::inputOf(0), mask};
    MapOp map = buildMap(builder, op.getLoc(), typeOf(op.getY()), product,
                         {op.getX()}, op.getScalars());
    inheritWork(map, op, phaseOf(op));
    if (StringRef name = nameOf(op.getY()); !name.empty())
      setNames(map, {name});
    y = map;
  }
  op.getY().replaceAllUsesWith(y);
  op.erase();
  return success();
}

struct Decompose : lwcc::impl::DecomposeBase<Decompose> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation().walk([&](Operation *op) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case<BatchNormOp, BatchNormGradOp, DropoutOp>(
                  [](auto typed) { return decompose(typed); })
              .Default([](Operation *) { return success(); });
      failedAny |= failed(result);
    });
    if (failedAny)
      signalPassFailure();
  }
};

} // namespace

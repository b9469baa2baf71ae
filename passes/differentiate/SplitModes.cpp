//===- SplitModes.cpp - Make @train_step and @evaluate from @model --------===//
//
// Takes `imported` with a loss, and makes @train_step and @evaluate of @model,
// both with its signature. @train_step normalizes with the batch's statistics,
// or each group of samples with its own, and updates the running ones, or
// uses these as they are (`frozen`).
// @evaluate normalizes with the running ones; it drops no elements and writes
// no parameter: buffers that a step changes are as the last one left them. It
// also returns the scores by which right answers are counted. Where the loss
// that is trained is not the one to evaluate by, @model returns that behind the
// counts.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/differentiate/BatchNorm.h"
#include "passes/differentiate/NumberLoss.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace lwcc {
#define GEN_PASS_DEF_SPLITMODES
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// The divisors of `number` that are nearest to `near`, which is none: "4 or
/// 8".
static std::string divisorsNear(int64_t number, int64_t near) {
  int64_t below = std::min(near - 1, number), above = near + 1;
  while (number % below)
    --below;
  if (above > number)
    return std::to_string(below);
  while (number % above)
    ++above;
  return std::to_string(below) + " or " + std::to_string(above);
}

namespace {

/// Gives groups of so many samples statistics of their own. One group is the
/// whole batch, as without groups.
LogicalResult normalizeGroups(func::FuncOp func, int64_t group) {
  auto norms = llvm::to_vector(func.getBody().getOps<BatchNormOp>());
  if (norms.empty() || group == 0)
    return success();
  int64_t batch = typeOf(func.getArgument(0)).getDimSize(0);
  if (batch % group)
    return func.emitError("--bn=group:")
           << group << ": the batch of " << batch
           << " samples has no whole groups of " << group << "; use "
           << divisorsNear(batch, group);
  if (batch == group)
    return success();
  LogicalResult result = success();
  for (BatchNormOp op : norms) {
    int64_t samples = typeOf(op.getX()).getDimSize(0);
    if (samples != batch) {
      result = op.emitError("--bn=group:")
               << group << ": layer '" << layerOf(op) << "' normalizes "
               << samples << " rows, not one for each of the " << batch
               << " samples; use --bn=global";
      continue;
    }
    op.setGroup(group);
    RankedTensorType type = statisticsType(op.getX(), samples / group);
    op.getMean().setType(type);
    op.getInvstd().setType(type);
  }
  return result;
}

/// Writes the running statistics at the end of each step. A normalization that
/// is applied twice in a step continues from where its first use left them.
LogicalResult writeStatistics(func::FuncOp func, SymbolTable &symbols) {
  struct Latest {
    Value value;
    BatchNormOp op;
  };
  llvm::MapVector<StringRef, Latest> written;
  LogicalResult result = success();
  func.walk([&](BatchNormOp op) {
    std::pair<OpOperand *, Value> pairs[] = {
        {&op.getRunningMeanMutable(), op.getNewMean()},
        {&op.getRunningVarianceMutable(), op.getNewVariance()}};
    for (auto [running, updated] : pairs) {
      auto read = running->get().getDefiningOp<ReadOp>();
      auto parameter =
          read ? symbols.lookup<ParameterOp>(read.getParameter()) : nullptr;
      if (!parameter) {
        result = op.emitError("running statistics are computed; expected "
                              "parameters");
        return;
      }
      if (parameter.getRole() != Role::statistic)
        continue;
      auto [entry, first] =
          written.insert({read.getParameter(), Latest{updated, op}});
      if (!first) {
        running->set(entry->second.value);
        entry->second = Latest{updated, op};
      }
    }
  });
  for (auto &[name, latest] : llvm::reverse(written)) {
    OpBuilder builder(latest.op->getContext());
    builder.setInsertionPointAfter(latest.op);
    auto write =
        WriteOp::create(builder, latest.op.getLoc(), name, latest.value);
    inheritWork(write, latest.op, Phase::forward);
  }
  return result;
}

/// PyTorch's modules compute what their buffers become in training alone.
void useBuffers(func::FuncOp evaluate) {
  llvm::StringMap<ReadOp> reads;
  for (auto read : evaluate.getBody().getOps<ReadOp>())
    reads[read.getParameter()] = read;
  for (auto write :
       llvm::make_early_inc_range(evaluate.getBody().getOps<WriteOp>())) {
    ReadOp read = reads.lookup(write.getParameter());
    assert(read && "the import writes what is read");
    // Whatever reads the new value may stand before what reads the old one.
    read->moveBefore(read->getBlock(), read->getBlock()->begin());
    write.getValue().replaceAllUsesWith(read.getValue());
    write.erase();
  }
}

/// y = (x - running_mean) / sqrt(running_variance + epsilon) * scale + bias.
void useRunningStatistics(BatchNormOp op, bool isTrained) {
  OpBuilder builder(op);
  MapOp invstd =
      buildMap(builder, op.getLoc(), "rsqrt_eps", {op.getRunningVariance()},
               floatParams(op.getContext(),
                           {{"epsilon", op.getEpsilon().convertToDouble()}}));
  inheritWork(invstd, op, Phase::forward);
  if (StringRef name = nameOf(op.getY()); !name.empty())
    setNames(invstd, {(name + ".invstd").str()});
  MapOp apply = isTrained
                    ? applyBatchNorm(builder, op, op.getRunningMean(), invstd)
                    : evaluateBatchNorm(builder, op, invstd);
  op.getY().replaceAllUsesWith(apply);
  op.erase();
}

void useRunningStatistics(func::FuncOp func, bool isTrained) {
  for (auto op :
       llvm::make_early_inc_range(func.getBody().getOps<BatchNormOp>()))
    useRunningStatistics(op, isTrained);
}

/// One number for each sample as a list, for the layer of `loss`.
Value asList(MapOp loss, Value numbers) {
  if (typeOf(numbers).getRank() != 1)
    return numbers;
  OpBuilder builder(loss);
  auto list = ReshapeOp::create(
      builder, loss.getLoc(),
      tensorOf(loss.getContext(), {typeOf(numbers).getDimSize(0), 1}), numbers);
  inheritWork(list, loss, Phase::forward);
  return list;
}

/// What a model says of a sample: the scores of its classes, or numbers. Null
/// where that is no list: several classes, or an image. One number is a list.
Value scoresOf(func::FuncOp evaluate) {
  Value scores;
  if (auto counts = evaluate.getBody().getOps<AccuracyOp>(); !counts.empty())
    scores = (*counts.begin()).getLogits();
  else if (MapOp losses = numberLossOf(evaluate))
    scores = asList(losses, losses.getInputs()[0]);
  return scores && typeOf(scores).getRank() == 2 ? scores : Value();
}

/// Gives each function its own of the two losses.
void chooseLosses(func::FuncOp train, func::FuncOp evaluate) {
  auto returned = [](func::FuncOp func) {
    return func.getBody().front().getTerminator()->getOperands();
  };
  if (returned(train).size() < 3)
    return;
  setResults(train, {returned(train)[0], returned(train)[1]});
  setResults(evaluate, {returned(evaluate)[2], returned(evaluate)[1]});
}

/// Adds the scores to what @evaluate returns, where a sample has such.
void returnScores(func::FuncOp evaluate) {
  Value scores = scoresOf(evaluate);
  if (!scores)
    return;
  auto results = llvm::to_vector(
      evaluate.getBody().front().getTerminator()->getOperands());
  results.push_back(scores);
  setResults(evaluate, results);
}

struct SplitModes : lwcc::impl::SplitModesBase<SplitModes> {
  using SplitModesBase::SplitModesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto model = symbols.lookup<func::FuncOp>(modelFunc);
    if (!model) {
      module.emitError("expected a function @") << modelFunc;
      return signalPassFailure();
    }
    auto evaluate = cast<func::FuncOp>(model->clone());
    evaluate.setName(evaluateFunc);
    symbols.insert(evaluate, std::next(model->getIterator()));
    func::FuncOp train = model;
    if (failed(symbols.rename(train, trainStepFunc)))
      return signalPassFailure();
    chooseLosses(train, evaluate);
    if (frozen && train.getBody().getOps<BatchNormOp>().empty())
      mlir::emitWarning(train.getLoc())
          << "--frozen-bn: the model has no batch normalization";
    if (frozen)
      useRunningStatistics(train, /*isTrained=*/true);
    else if (failed(normalizeGroups(train, group)) ||
             failed(writeStatistics(train, symbols)))
      return signalPassFailure();

    if (!train.getBody().getOps<BatchNormOp>().empty())
      module->setAttr(batchStatisticsAttr,
                      IntegerAttr::get(IntegerType::get(&getContext(), 64), 1));
    useRunningStatistics(evaluate, /*isTrained=*/false);
    useBuffers(evaluate);
    for (auto op :
         llvm::make_early_inc_range(evaluate.getBody().getOps<DropoutOp>())) {
      op.getY().replaceAllUsesWith(op.getX());
      op.erase();
    }
    returnScores(evaluate);
  }
};

} // namespace

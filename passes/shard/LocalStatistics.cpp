//===- LocalStatistics.cpp - Batch normalization, part by part ------------===//
//
// `--bn=local`: each part of the samples is normalized by its own mean and
// variance, as replicas in data-parallel frameworks do without synchronized
// batch normalization.
//
// An op that reads or makes batch statistics is cloned once per part, and only
// that part's tiles are made of a clone (PartialOps, Sharder.h). Gradients of
// scale and bias stay those of all samples. The running statistics are those of
// the first part (PyTorch's DistributedDataParallel keeps those of the first
// replica).
//
// The expression of the gradient divides sums over samples by the number of all
// elements. The sums of a part are therefore multiplied by (elements of all) /
// (elements of the part).
//
// Does not decide the parts: they are the cuts of the statistics op along n.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"
#include "passes/shard/TakeApart.h"
#include "passes/shard/TileRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

namespace {
/// Clones the ops of one batch normalization.
class Localizer {
public:
  Localizer(BatchNormStatsOp stats, PartialOps &partial)
      : stats(stats), partial(partial),
        cuts(cutsOf(stats, cutsOf(tilingOf(stats)))) {}

  LogicalResult run() {
    if (cuts.degrees[n] == 1)
      return success();
    for (Operation *op = stats; op; op = op->getNextNode())
      if ((op == stats || readsLocal(op)) && !partial.replaced.contains(op))
        if (failed(localize(op)))
          return failure();
    return success();
  }

private:
  static TilingAttr tilingOf(Operation *op) {
    return op->getAttrOfType<TilingAttr>(tilingAttr);
  }
  /// Elements per channel in a part of the samples; in the whole batch if
  /// `part` is -1.
  double count(int64_t part) {
    Shape x = shapeOf(stats.getX());
    int64_t samples = part < 0 ? x[0] : cuts.part(n, x[0], part).size();
    for (size_t d = 2; d < x.size(); ++d)
      samples *= x[d];
    return static_cast<double>(samples);
  }
  bool readsLocal(Operation *op) {
    return llvm::any_of(op->getOperands(),
                        [&](Value value) { return local.contains(value); });
  }
  bool mapsSamples(Operation *op) {
    return isa<MapOp>(op) &&
           shapeOf(op->getResult(0)).size() == shapeOf(stats.getX()).size();
  }
  /// Whether `other` cuts the samples into the same parts.
  bool cutsAlike(const Cuts &other) {
    int64_t samples = shapeOf(stats.getX())[0];
    if (other.degrees[n] != cuts.degrees[n])
      return false;
    for (int64_t part = 0; part < cuts.degrees[n]; ++part)
      if (other.part(n, samples, part) != cuts.part(n, samples, part))
        return false;
    return true;
  }
  LogicalResult localize(Operation *op);
  Value scaled(Value of, double factor, int64_t part, ValueRange also = {});

  BatchNormStatsOp stats;
  PartialOps &partial;
  Cuts cuts;
  /// The values that differ from part to part, with one value per part.
  llvm::DenseMap<Value, SmallVector<Value>> local;
};
} // namespace

/// Bessel's correction: the factor that makes the variance of `count` elements
/// unbiased.
static double unbiased(double count) {
  return count > 1 ? count / (count - 1) : 1;
}

/// A part's value per channel, multiplied by a factor.
Value Localizer::scaled(Value of, double factor, int64_t part,
                        ValueRange also) {
  Substitute make(of.getDefiningOp());
  make.builder.setInsertionPointAfterValue(of);
  std::string text = floatLiteral(static_cast<float>(factor)) + " * x0";
  Value result = make.map(nameOf(of), text, {of});
  partial.ops[result.getDefiningOp()] = {part, llvm::to_vector(also)};
  return result;
}

LogicalResult Localizer::localize(Operation *op) {
  // The op was cloned for another batch normalization before; its clones must
  // stand for the same parts.
  if (auto known = partial.ops.find(op); known != partial.ops.end()) {
    if (!cutsAlike(cutsOf(op, cutsOf(tilingOf(op)))))
      return op->emitError("layer '")
             << layerOf(stats)
             << "' is normalized in one kernel with another layer: with "
                "--bn=local both must be cut alike along n";
    for (OpOperand &operand : op->getOpOperands())
      if (auto own = local.find(operand.get()); own != local.end())
        operand.set(own->second[known->second.part]);
    return success();
  }
  bool gradient = isa<BatchNormGradStatsOp>(op);
  bool replaced = op == stats || gradient || mapsSamples(op);
  if (!replaced && !isa<ReshapeOp>(op))
    return success(); // the running statistics' update reads the first part,
                      // parameter updates read all
  // The clones are cut like the statistics, whichever layer fusion gave the op
  // to.
  op->setAttr(tilingAttr, tilingOf(stats));
  if (replaced)
    partial.replaced.insert(op);
  OpBuilder builder(op);
  for (int64_t part = 0; part < cuts.degrees[n]; ++part) {
    Operation *made = builder.clone(*op);
    for (OpOperand &operand : made->getOpOperands())
      if (auto own = local.find(operand.get()); own != local.end())
        operand.set(own->second[part]);
    SmallVector<Value> results(made->getResults()), also;
    if (gradient || (op != stats && replaced))
      also.assign(op->result_begin(), op->result_end());
    else if (op == stats && part == 0)
      also = {stats.getMean(), Value(), stats.getInvstd()};
    partial.ops[made] = {part, also};
    if (gradient)
      for (Value &sum : results)
        sum = scaled(sum, count(-1) / count(part), part);
    if (op == stats && part == 0)
      // The map of the running variance applies Bessel's correction for the
      // whole batch; this factor makes it the part's.
      scaled(results[1], unbiased(count(0)) / unbiased(count(-1)), part,
             {stats.getVariance()});
    if (replaced && !gradient && op != stats)
      continue;
    for (auto [whole, own] : llvm::zip_equal(op->getResults(), results))
      local[whole].push_back(own);
  }
  return success();
}

LogicalResult shard::localizeStatistics(Block &body, PartialOps &partial) {
  SmallVector<BatchNormStatsOp> all(body.getOps<BatchNormStatsOp>());
  for (BatchNormStatsOp stats : all)
    if (failed(Localizer(stats, partial).run()))
      return failure();
  // Reshapes of statistics whose users are all replaced have no reader.
  for (auto view : body.getOps<ReshapeOp>())
    if (!view->use_empty() &&
        llvm::all_of(view->getUsers(), [&](Operation *op) {
          return partial.replaced.contains(op);
        }))
      partial.replaced.insert(view);
  return success();
}

//===- Pipeline.cpp - From imported to exec -------------------------------===//
//
// A pass takes one form and gives one form. The table below is the whole order
// and the reason for it; after each form, its rules are checked.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline.h"
#include "passes/Passes.h"
#include "passes/schedule/TrainSchedule.h"
#include "passes/verify/AllInParallel.h"
#include "passes/verify/FormRules.h"
#include "passes/verify/ScheduleVerifier.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>
#include <iterator>

using namespace mlir;
using namespace lwcc;

namespace {
using PassList = std::vector<std::unique_ptr<Pass>>;

/// A form, and the passes that reach it.
struct Chapter {
  StringRef form;
  PassList passes;
};
using Check = std::function<LogicalResult(ModuleOp)>;
} // namespace

template <typename... Passes>
static PassList listOf(Passes... passes) {
  PassList list;
  (list.push_back(std::move(passes)), ...);
  return list;
}

static LogicalResult runPasses(PassList passes, ModuleOp module) {
  PassManager manager(module.getContext());
  // The forms are verified once each, and ops by the passes that make them.
  manager.enableVerifier(false);
  for (std::unique_ptr<Pass> &pass : passes)
    manager.addPass(std::move(pass));
  return manager.run(module);
}

static PassList differentiating(const PipelineOptions &options) {
  PassList passes = listOf(
      // What users say of parameters, while layers are still whole.
      createParameterGroups({options.freeze, options.groups, options.noDecay}),
      // Before anything is made of the ops, and labels come.
      createChannelsSecond(), createSplitSlices(), createSamplesFirst());
  auto append = [&](PassList more) {
    std::move(more.begin(), more.end(), std::back_inserter(passes));
  };
  // Not for GPUs: there attention is products of cuBLASLt's, and the op plain
  // loops. It makes slices of what queries, keys and values are parts of.
  if (options.target == "cpu")
    append(listOf(createFuseAttention(), createSplitSlices()));
  append(listOf(createMatrixRows(),
                // The loss before the rest: it is what everything is
                // differentiated against.
                createAddLoss({options.labelSmoothing, options.softLabels}),
                // Training and evaluation part here, while batch_norm and
                // dropout are still single ops that know both of their modes.
                createSplitModes({options.group, options.frozenBn}),
                // Gradients of whole layers, before they are taken apart: a
                // layer's gradient is cheaper than that of its pieces.
                createAutodiff({options.optimizer, options.clipNorm,
                                options.averageDecay}),
                // Reductions become kernels, everything else expressions ...
                createDecompose(),
                // ... so that fusion sees nothing but expressions. Twins (the
                // same reshape or mask made by two gradients) go before it.
                createCanonicalizerPass(), createCSEPass(), createFuse(),
                createCanonicalizerPass(),
                // Last: what fusion has left shows what only updates wait for.
                createPhases()));
  return passes;
}

static PassList sharding() {
  // Tiles and what moves between them are new ops, with phases of their own.
  return listOf(createShard(), createPhases());
}

/// What planning has told of how long ops take; empty before.
using KnownTicks = std::shared_ptr<TicksOf>;

static PassList scheduling(const PipelineOptions &options,
                           const KnownTicks &known) {
  auto ticksOf = [known](Operation *op) { return *known ? (*known)(op) : 0; };
  // Now that each gradient has its place, and before ops have an order. Not for
  // GPUs: there a product's speed is the library's, which has no such kernel.
  // A fused op makes a data gradient, too: what it reads is no longer read for
  // parameters alone.
  if (options.target == "cpu")
    return listOf(createFuseUpdates(), createPhases(),
                  createTrainSchedule(ticksOf));
  return listOf(createTrainSchedule(ticksOf));
}

/// What planning has done to each plan that it wants to time: the way to `exec`
/// without offsets and proofs, which change no time.
static LogicalResult lowerPlanned(ModuleOp module,
                                  const PipelineOptions &options,
                                  const KnownTicks &known) {
  PassList passes = sharding();
  for (std::unique_ptr<Pass> &pass : scheduling(options, known))
    passes.push_back(std::move(pass));
  passes.push_back(createToExec());
  return runPasses(std::move(passes), module);
}

static PassList planning(const PipelineOptions &options,
                         const PipelineHooks &hooks, const KnownTicks &known) {
  TrainPlanOptions plan;
  plan.strategy = options.strategy;
  plan.gpus = options.gpus;
  plan.nodes = options.nodes;
  plan.machineName = options.machine;
  plan.precision = options.precision;
  plan.file = options.plan;
  plan.costsFile = options.costs;
  plan.target = options.target;
  plan.memory = options.memory;
  plan.searchSeconds = options.searchSeconds;
  plan.searchSeed = options.searchSeed;
  plan.searchDimensions = options.searchDimensions;
  plan.keep.assign(options.keep.begin(), options.keep.end());
  plan.microBatches = options.microBatches;
  plan.stages = options.stages;
  plan.schedule = options.schedule;
  plan.lanes = options.lanes;
  auto lower = [options, known](ModuleOp planned) {
    return lowerPlanned(planned, options, known);
  };
  auto onTicks = [known](TicksOf ticks) { *known = std::move(ticks); };
  return listOf(createTrainPlan(
      plan, {lower, onTicks, hooks.onPlan, hooks.onPlanAsksForPrices}));
}

static std::vector<Chapter> chapters(const PipelineOptions &options,
                                     const PipelineHooks &hooks) {
  std::vector<Chapter> all;
  auto known = std::make_shared<TicksOf>();
  auto add = [&](StringRef form, PassList passes) {
    all.push_back({form, std::move(passes)});
  };
  add("imported", {});
  add("differentiated", differentiating(options));
  add("planned", planning(options, hooks, known));
  add("sharded", sharding());
  add("scheduled", scheduling(options, known));
  add("exec",
      listOf(
          // Values become buffers: only now is it settled which of them share
          // memory by construction (updates, views, in-place maps).
          createToExec(),
          // Offsets, by the lifetimes that lanes and events guarantee.
          createPlanMemory()));
  return all;
}

/// What holds of a form on every compile: what its ops ask for, the rules of
/// the form, and of `exec` the proof of all that the passes decided.
static std::vector<Check> checksOf(StringRef form) {
  std::vector<Check> checks = {
      [](ModuleOp module) { return verify(module); },
      [form](ModuleOp module) { return verifyForm(module, form); }};
  if (form == "exec")
    checks.insert(checks.begin(), [](ModuleOp module) {
      return verifySchedule(*module.getOps<exec::ProgramOp>().begin());
    });
  return checks;
}

llvm::ArrayRef<StringRef> lwcc::pipelineForms() {
  static const std::vector<StringRef> forms = [] {
    std::vector<StringRef> names;
    for (const Chapter &chapter : chapters({}, {}))
      names.push_back(chapter.form);
    return names;
  }();
  return forms;
}

LogicalResult lwcc::runPipeline(ModuleOp module, const PipelineOptions &options,
                                const PipelineHooks &hooks) {
  if (hooks.onPass && failed(hooks.onPass("imported")))
    return failure();
  for (Chapter &chapter : chapters(options, hooks)) {
    for (std::unique_ptr<Pass> &pass : chapter.passes) {
      StringRef name = pass->getArgument();
      if (failed(runPasses(listOf(std::move(pass)), module)) ||
          (hooks.onPass && failed(hooks.onPass(name))))
        return failure();
    }
    numberOps(module);
    if (hooks.onForm)
      hooks.onForm(chapter.form);
    // They only read: each takes a thread.
    const std::vector<Check> checks = checksOf(chapter.form);
    if (failed(allInParallel(module.getContext(), checks.size(),
                             [&](size_t i) { return checks[i](module); })))
      return failure();
    if (hooks.onChecked)
      hooks.onChecked(chapter.form);
    if (chapter.form == options.stopAfter)
      return success();
  }
  return success();
}

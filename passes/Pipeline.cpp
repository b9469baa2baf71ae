//===- Pipeline.cpp - From imported to exec -------------------------------===//
//
// A pass takes one form and gives one form. The table below is the whole order
// and the reason for it; after each form, its rules are checked.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline.h"
#include "passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lwcc;

namespace {
struct Stage {
  StringRef form;                  ///< the form that its passes reach
  std::vector<std::string> passes; ///< in MLIR's textual syntax
};
} // namespace

/// Its options are files and what a person wrote: no text of a pipeline.
static constexpr llvm::StringLiteral planning = "train-plan";

static std::string sharding(const PipelineOptions &options) {
  return llvm::formatv("train-shard{{local-statistics={0}}",
                       options.localStatistics);
}

static std::vector<std::string> scheduling(const PipelineOptions &options) {
  // Now that each gradient has its place, and before ops have an order. Not for
  // GPUs: there a product's speed is the library's, which has no such kernel.
  if (options.target == "cpu")
    return {"train-fuse-updates", "train-schedule"};
  return {"train-schedule"};
}

static constexpr llvm::StringLiteral toExec = "train-to-exec";

static std::unique_ptr<Pass> createPlanning(const PipelineOptions &options) {
  TrainPlanOptions plan;
  plan.strategy = options.strategy;
  plan.gpus = options.gpus;
  plan.machineName = options.machine;
  plan.precision = options.precision;
  plan.file = options.plan;
  plan.costsFile = options.costs;
  plan.target = options.target;
  plan.memory = options.memory;
  plan.searchSeconds = options.searchSeconds;
  plan.localStatistics = options.localStatistics;
  plan.searchSeed = options.searchSeed;
  plan.searchDimensions = options.searchDimensions;
  plan.lowering = sharding(options) + "," +
                  llvm::join(scheduling(options), ",") + "," + toExec.str();
  plan.tables = options.costTables;
  plan.compare = options.compareStrategies;
  plan.record = options.recordPlan;
  return createTrainPlan(plan);
}

static std::vector<Stage> stages(const PipelineOptions &options) {
  return {
      {"imported", {}},
      {"differentiated",
       {
           // The loss first: it is what everything is differentiated against.
           "train-add-loss",
           // Training and evaluation part here, while batch_norm and dropout
           // are still single ops that know both of their modes.
           "train-split-modes",
           // Gradients of whole layers, before they are taken apart: a layer's
           // gradient is cheaper than that of its pieces.
           "train-autodiff{optimizer=" + options.optimizer + "}",
           // Reductions become kernels, everything else expressions ...
           "train-decompose",
           // ... so that fusion sees nothing but expressions. Twins (the same
           // reshape or mask made by two gradients) go before it.
           "canonicalize",
           "cse",
           "train-fuse",
           "canonicalize",
       }},
      {"planned", {planning.str()}},
      {"sharded", {sharding(options)}},
      {"scheduled", scheduling(options)},
      {"exec",
       {
           // Values become buffers: only now is it settled which of them share
           // memory by construction (updates, views, in-place maps).
           toExec.str(),
           // Offsets, by the lifetimes that lanes and events guarantee.
           "exec-plan-memory",
           // The proof, on every compile, of all that was decided above.
           "exec-verify-schedule",
       }},
  };
}

llvm::ArrayRef<StringRef> lwcc::pipelineForms() {
  static const std::vector<StringRef> forms = [] {
    std::vector<StringRef> names;
    for (const Stage &stage : stages({}))
      names.push_back(stage.form);
    return names;
  }();
  return forms;
}

LogicalResult lwcc::runPipeline(ModuleOp module, const PipelineOptions &options,
                                llvm::function_ref<void(StringRef)> onForm,
                                llvm::function_ref<OnPass> onPass) {
  auto run = [&](const std::string &pass) -> LogicalResult {
    PassManager manager(module.getContext());
    // The forms are verified once each, and ops by the passes that make them.
    manager.enableVerifier(false);
    if (pass == planning)
      manager.addPass(createPlanning(options));
    else if (failed(parsePassPipeline(pass, manager)))
      return failure();
    if (failed(manager.run(module)))
      return failure();
    StringRef name =
        StringRef(pass).take_until([](char c) { return c == '{'; });
    return onPass && !name.starts_with("lwcc-verify") ? onPass(name)
                                                      : success();
  };
  if (onPass && failed(onPass("imported")))
    return failure();
  for (const Stage &stage : stages(options)) {
    for (const std::string &pass : stage.passes)
      if (failed(run(pass)))
        return failure();
    if (failed(verify(module)) ||
        failed(run("lwcc-verify-form{form=" + stage.form.str() + "}")))
      return failure();
    if (onForm)
      onForm(stage.form);
    if (stage.form == options.stopAfter)
      return success();
  }
  return success();
}

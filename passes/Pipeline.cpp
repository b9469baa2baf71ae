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

static std::vector<Stage> stages(const PipelineOptions &options) {
  const std::string shard = llvm::formatv("train-shard{{local-statistics={0}}",
                                          options.localStatistics);
  // Now that each gradient has its place, and before ops have an order. Not for
  // GPUs: there a product's speed is the library's, which has no such kernel.
  std::vector<std::string> scheduling = {"train-schedule"};
  if (options.target == "cpu")
    scheduling.insert(scheduling.begin(), "train-fuse-updates");
  const std::string toExec = "train-to-exec";
  const std::string lowering =
      shard + "," + llvm::join(scheduling, ",") + "," + toExec;
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
      {"planned",
       {llvm::formatv(
           "train-plan{{strategy={0} gpus={1} record={2} compare={3} "
           "tables={4} precision={5} memory={6} search-seconds={7} "
           "search-seed={8} search-dimensions={9} "
           "local-statistics={10} lowering=\"{11}\"{12}{13}{14}{15}}",
           options.strategy, options.gpus, options.recordPlan,
           options.compareStrategies, options.costTables, options.precision,
           options.memory, options.searchSeconds, options.searchSeed,
           options.searchDimensions, options.localStatistics, lowering,
           options.costs.empty() ? "" : " costs=" + options.costs,
           options.target.empty() ? "" : " target=" + options.target,
           options.plan.empty() ? "" : " plan=" + options.plan,
           options.machine.empty() ? "" : " machine=" + options.machine)}},
      {"sharded", {shard}},
      {"scheduled", scheduling},
      {"exec",
       {
           // Values become buffers: only now is it settled which of them share
           // memory by construction (updates, views, in-place maps).
           toExec,
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
    if (failed(parsePassPipeline(pass, manager)))
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

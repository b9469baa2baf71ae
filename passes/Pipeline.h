//===- Pipeline.h - From imported to exec -----------------------*- C++ -*-===//
//
// The order of all passes, in one place. Tools run it; tests run single passes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PIPELINE_H
#define LWCC_PASSES_PIPELINE_H

#include "passes/plan/TrainPlan.h"

#include <string>
#include <vector>

namespace lwcc {

struct PipelineOptions {
  std::string stopAfter = "exec"; ///< a form (ir/train/README.md)
  std::string optimizer = "sgd";
  double averageDecay = 0; ///< of parameters' averages, 0: there are none
  double clipNorm = 0;     ///< of all gradients together, 0: any
  llvm::SmallVector<std::string> freeze;  ///< regular expressions of parameters
  llvm::SmallVector<std::string> groups;  ///< as parseGroup reads them
  llvm::SmallVector<std::string> noDecay; ///< kinds of parameters
  std::string strategy = "single";
  std::string plan;    ///< a file, instead of the strategy
  std::string machine; ///< a built-in name or a file; empty: a default
  std::string precision = "fp32"; ///< of products: fp32 or tf32
  double labelSmoothing = 0;      ///< how much of each label is any class
  bool softLabels = false;        ///< samples may be of several classes
  /// Of samples that have batch statistics of their own, 0: all together.
  int64_t group = 0;
  bool frozenBn = false; ///< the running statistics, which stay as they are
  int gpus = 1;
  int nodes = 0;             ///< on which they are; 0: as many as it takes
  std::string costs;         ///< a profile to price plans by, if any
  std::string target;        ///< that it must be of, if any
  int64_t memory = 0;        ///< bytes of a device, 0: the machine's
  double searchSeconds = 10; ///< for searches by chance
  int64_t searchSeed = 0;
  std::string searchDimensions = "nchwk"; ///< that searches may cut
  llvm::SmallVector<std::string> keep;    ///< as parseKeep reads them
  int64_t microBatches = 0;               ///< of a pipeline, 0: by search
  int64_t stages = 0;                     ///< of a pipeline, 0: by search
  std::string schedule;                   ///< of a pipeline, empty: by search
  int64_t lanes = -1; ///< compute lanes of each device, 0: by search; -1: by
                      ///< search where the strategy is auto and they were
                      ///< measured
};

/// All forms, in order.
llvm::ArrayRef<llvm::StringRef> pipelineForms();

/// What the pipeline's caller is told on the way.
struct PipelineHooks {
  /// Each form that was reached, its ops numbered in their order, and then was
  /// found to keep its rules.
  std::function<void(llvm::StringRef form)> onForm, onChecked;
  /// Each pass that has run, before the first one "imported". A failure ends
  /// the pipeline.
  std::function<llvm::LogicalResult(llvm::StringRef pass)> onPass;
  /// The plan, and what it was made from (PlanningHooks).
  decltype(PlanningHooks::onPlan) onPlan;
  bool onPlanAsksForPrices = false;
};

/// Brings a module of the form `imported` to `stopAfter`, checking each form.
/// Mistakes are diagnostics.
mlir::LogicalResult runPipeline(mlir::ModuleOp module,
                                const PipelineOptions &options,
                                const PipelineHooks &hooks = {});

} // namespace lwcc

#endif // LWCC_PASSES_PIPELINE_H

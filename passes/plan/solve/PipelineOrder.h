//===- PipelineOrder.h - Who does what when in a pipeline -------*- C++ -*-===//
//
// Defines the nouns of pipelines, and the table of their schedules:
//
//   stage        consecutive layers, on one device
//   micro-batch  the samples that go through a stage at a time
//   turn         a stage's work on one micro-batch in one phase
//   stash        what a stage's forward turn keeps for its backward turns
//   schedule     a row of the table: in which order a stage takes its turns
//   bubble       the time that a stage waits between its first and its last
//   turn
//
// Each schedule has three parts. A stage begins with some forward turns, the
// warm-up. Then a backward turn and a forward turn take turns, until there are
// no more; last come the backward turns that are left. Schedules with zero
// bubbles take the gradients of parameters as turns of their own, some
// micro-batches later, so that the stage before waits less.
//
// Does not decide which layers make a stage, nor how many micro-batches there
// are (Stages.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_PIPELINEORDER_H
#define LWCC_PASSES_PLAN_SOLVE_PIPELINEORDER_H

#include "ir/place/Work.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace lwcc::plan {

struct PipelineSchedule {
  llvm::StringRef name, summary;
  /// The forward turns of the warm-up, for stage `stage` of `stages`.
  int64_t (*warmUp)(int64_t stage, int64_t stages, int64_t batches);
  /// How many micro-batches behind its backward turn a gradient of parameters
  /// is made. Null: in the same turn.
  int64_t (*weightDelay)(int64_t stage) = nullptr;
};

llvm::ArrayRef<PipelineSchedule> pipelineSchedules();
const PipelineSchedule *findPipelineSchedule(llvm::StringRef name);

struct Turn {
  Phase phase = Phase::forward; ///< backward may include weight
  int64_t batch = 0;
  bool operator==(const Turn &) const = default;
};

/// The turns of a stage, in their order.
std::vector<Turn> turnsOf(const PipelineSchedule &schedule, int64_t stage,
                          int64_t stages, int64_t batches);

/// Seconds, or any other unit, of a stage's turns on one micro-batch.
struct StageTimes {
  double forward = 1, backward = 1, weight = 1;
};

/// What a step of a pipeline comes to if transfers take no time.
struct PipelineStep {
  double length = 0;
  std::vector<double> bubbles;  ///< of each stage
  std::vector<int64_t> stashes; ///< of each stage the most that it holds
};

PipelineStep stepOf(const PipelineSchedule &schedule,
                    llvm::ArrayRef<StageTimes> stages, int64_t batches);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_PIPELINEORDER_H

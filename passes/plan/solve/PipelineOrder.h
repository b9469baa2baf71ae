//===- PipelineOrder.h - Who does what when in a pipeline -------*- C++ -*-===//
//
// Defines the nouns of pipelines, and the table of their schedules:
//
//   stage        layers that go through micro-batches together
//   worker       what a stage runs on: a device, or several that share the
//                samples of each micro-batch; stages of one worker are its
//                chunks
//   micro-batch  the samples that go through a stage at a time
//   turn         a stage's work on one micro-batch in one phase
//   stash        what a stage's forward turn keeps for its backward turns
//   schedule     a row of the table: in which order workers take their turns
//   bubble       the time that a worker waits between its first and its last
//   turn
//
// There are three generators of orders, of which a row takes one:
//
//   - Worker by worker, without times: some forward turns, the warm-up, then a
//     backward and a forward turn by turns, then the backward turns left.
//   - The same over the chunks of a worker, micro-batches in rounds.
//   - By time, for all workers at once, under a cap of stashes: backward and
//     forward turns as soon as they can be, gradients of parameters in the gaps
//     and where the cap wants them. Of some ways to choose among turns that
//     could begin at once, that with the shortest step.
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

/// Seconds, or any other unit, of a stage's turns on one micro-batch.
struct StageTimes {
  double forward = 1, backward = 1, weight = 1;
  /// Until what it makes is where it is read, in either direction.
  double transfer = 0;
  double busy() const { return forward + backward + weight; }
};

struct Pipeline {
  struct Stage {
    int64_t worker = 0;
    StageTimes times;
    std::vector<int64_t> before; ///< stages whose results it reads
  };
  std::vector<Stage> stages; ///< each behind those that it reads
  int64_t workers = 0, batches = 0;

  /// Stages one behind the other.
  static Pipeline chain(llvm::ArrayRef<StageTimes> stages, int64_t batches);
  /// Of each stage, how many there are on the longest way from it to the end,
  /// itself included.
  std::vector<int64_t> depths() const;
};

struct Turn {
  Phase phase = Phase::forward; ///< backward may include weight
  int64_t batch = 0, stage = 0;
  bool operator==(const Turn &) const = default;
};
using Turns = std::vector<std::vector<Turn>>; ///< of each worker, in order

struct PipelineSchedule {
  llvm::StringRef name, summary;
  /// How many stashes a worker may hold, those of all of its chunks; `depth` is
  /// that of its first stage.
  int64_t (*cap)(int64_t depth, int64_t workers, int64_t batches);
  Turns (*generate)(const PipelineSchedule &schedule, const Pipeline &pipeline);
  /// Gradients of parameters are turns of their own.
  bool weightApart = false;
  int64_t chunks = 1;  ///< of each worker
  bool folded = false; ///< every other row of chunks goes back

  /// Where a chain of stages runs.
  int64_t workerOf(int64_t stage, int64_t workers) const;
};

llvm::ArrayRef<PipelineSchedule> pipelineSchedules();
const PipelineSchedule *findPipelineSchedule(llvm::StringRef name);

/// The turns of each worker.
Turns turnsOf(const PipelineSchedule &schedule, const Pipeline &pipeline);

/// What a step of a pipeline comes to if a transfer delays nothing but what
/// waits for it.
struct PipelineStep {
  double length = 0;
  std::vector<double> bubbles;       ///< of each worker
  std::vector<int64_t> stashes;      ///< of each worker the most that it holds
  std::vector<int64_t> stageStashes; ///< of each stage
  struct Taken {
    Turn turn;
    double begin = 0, end = 0;
  };
  std::vector<std::vector<Taken>> turns; ///< of each worker
};

/// Plays turns that need not be a schedule's. Those that wait for each other
/// are never taken.
PipelineStep play(const Pipeline &pipeline, const Turns &turns,
                  bool weightApart);

PipelineStep stepOf(const PipelineSchedule &schedule, const Pipeline &pipeline);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_PIPELINEORDER_H

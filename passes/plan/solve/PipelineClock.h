//===- PipelineClock.h - A step of a pipeline while it runs -----*- C++ -*-===//
//
// Plays the turns of a pipeline's workers: which can be taken, when each begins
// and ends, and how many micro-batches are held meanwhile. Generators of orders
// ask it what could be next; `play` tells it all turns of an order.
//
// Does not decide which turn is taken: PipelineOrder.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_PIPELINECLOCK_H
#define LWCC_PASSES_PLAN_SOLVE_PIPELINECLOCK_H

#include "passes/plan/solve/PipelineOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace lwcc::plan {

inline constexpr double notYet = std::numeric_limits<double>::infinity();

/// A step while it runs: which turns were taken, and when they ended.
class PipelineClock {
public:
  PipelineClock(const Pipeline &pipeline, bool weightApart)
      : pipeline(pipeline), apart(weightApart), behind(pipeline.stages.size()),
        free(pipeline.workers, 0), begun(pipeline.workers, -1),
        busy(pipeline.workers, 0), held(pipeline.workers, 0),
        heldBy(pipeline.stages.size(), 0), most(pipeline.workers, 0),
        mostBy(pipeline.stages.size(), 0), done(pipeline.workers) {
    for (auto [s, stage] : llvm::enumerate(pipeline.stages))
      for (int64_t before : stage.before)
        behind[before].push_back(static_cast<int64_t>(s));
    for (auto &phase : ends)
      phase.assign(pipeline.stages.size(), {});
  }

  /// How many turns of a phase a stage has taken.
  int64_t taken(Phase phase, int64_t stage) const {
    return static_cast<int64_t>(endsOf(phase)[stage].size());
  }
  /// When the stage could take its next turn of a phase; notYet if that waits
  /// for turns that were not taken yet.
  double start(Phase phase, int64_t stage) const {
    const int64_t batch = taken(phase, stage);
    const int64_t worker = pipeline.stages[stage].worker;
    double start = free[worker];
    auto waitFor = [&](Phase other, int64_t from, double transfer) {
      const std::vector<double> &times = endsOf(other)[from];
      start = batch < static_cast<int64_t>(times.size())
                  ? std::max(start, times[batch] + transfer)
                  : notYet;
    };
    auto transfer = [&](int64_t from, int64_t to) {
      return pipeline.stages[to].worker == pipeline.stages[from].worker
                 ? 0
                 : pipeline.stages[from].times.transfer;
    };
    if (batch == pipeline.batches)
      return notYet;
    switch (phase) {
    case Phase::forward:
      for (int64_t before : pipeline.stages[stage].before)
        waitFor(Phase::forward, before, transfer(before, stage));
      break;
    case Phase::backward:
      waitFor(Phase::forward, stage, 0);
      for (int64_t next : behind[stage])
        waitFor(Phase::backward, next, transfer(stage, next));
      break;
    default:
      waitFor(Phase::backward, stage, 0);
    }
    return start;
  }
  double lengthOf(Phase phase, int64_t stage) const {
    const StageTimes &times = pipeline.stages[stage].times;
    return phase == Phase::forward ? times.forward
           : phase == Phase::weight
               ? times.weight
               : times.backward + (apart ? 0 : times.weight);
  }
  Turn take(Phase phase, int64_t stage) {
    const int64_t worker = pipeline.stages[stage].worker;
    double begin = start(phase, stage), length = lengthOf(phase, stage);
    if (begun[worker] < 0)
      begun[worker] = begin;
    free[worker] = begin + length;
    busy[worker] += length;
    if (phase == Phase::forward) {
      mostBy[stage] = std::max(mostBy[stage], ++heldBy[stage]);
      most[worker] = std::max(most[worker], ++held[worker]);
    } else if (phase == (apart ? Phase::weight : Phase::backward)) {
      --heldBy[stage];
      --held[worker];
    }
    Turn turn{phase, taken(phase, stage), stage};
    done[worker].push_back({turn, begin, free[worker]});
    // Programs hand a gradient on before they make those of parameters.
    const bool isBackward = phase == Phase::backward;
    ends[static_cast<size_t>(phase)][stage].push_back(
        isBackward ? begin + pipeline.stages[stage].times.backward
                   : free[worker]);
    return turn;
  }
  PipelineStep step() const {
    PipelineStep step;
    for (int64_t w = 0; w < pipeline.workers; ++w) {
      step.length = std::max(step.length, free[w]);
      step.bubbles.push_back(free[w] - std::max(begun[w], 0.0) - busy[w]);
    }
    step.stashes = most;
    step.stageStashes = mostBy;
    step.turns = done;
    return step;
  }
  int64_t stashes(int64_t worker) const { return held[worker]; }
  int64_t stashesOf(int64_t stage) const { return heldBy[stage]; }

private:
  const std::vector<std::vector<double>> &endsOf(Phase phase) const {
    return ends[static_cast<size_t>(phase)];
  }

  const Pipeline &pipeline;
  const bool apart;
  std::vector<std::vector<int64_t>> behind; ///< of each stage
  std::vector<double> free, begun, busy;    ///< of each worker
  std::vector<int64_t> held, heldBy, most, mostBy;
  std::vector<std::vector<PipelineStep::Taken>> done;
  /// When others can go on by each turn that was taken, by phase.
  std::vector<std::vector<double>> ends[3];
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_PIPELINECLOCK_H

//===- PipelineOrder.cpp - Who does what when in a pipeline ---------------===//

#include "passes/plan/solve/PipelineOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace lwcc;
using namespace lwcc::plan;

/// Forward turns until the first micro-batch comes back.
static int64_t untilTheFirst(int64_t stage, int64_t stages, int64_t) {
  return stages - stage;
}
/// As many more as the stages behind hold.
static int64_t twice(int64_t stage, int64_t stages, int64_t) {
  return 2 * (stages - stage) - 1;
}
static int64_t all(int64_t, int64_t, int64_t batches) { return batches; }

// Huang et al., "GPipe", 2019; Narayanan et al., "PipeDream", 2019; Fan et al.,
// "DAPPLE", 2021 (its policy B); Qi et al., "Zero Bubble Pipeline Parallelism",
// 2024, for whose schedules all phases take equally long.
static const PipelineSchedule schedules[] = {
    {"gpipe", "all micro-batches forward, then all backward", all},
    {"1f1b", "one forward, one backward", untilTheFirst},
    {"1f1b-eager", "the same with a longer warm-up, for slow links", twice},
    {"zb-h1", "1f1b with gradients of parameters in its bubbles", untilTheFirst,
     [](int64_t stage) { return stage; }},
    {"zb-h2", "the same without bubbles, with twice the stashes", twice,
     [](int64_t stage) { return 2 * stage; }},
};

llvm::ArrayRef<PipelineSchedule> lwcc::plan::pipelineSchedules() {
  return schedules;
}

const PipelineSchedule *lwcc::plan::findPipelineSchedule(llvm::StringRef name) {
  auto row = llvm::find_if(schedules, [&](const PipelineSchedule &each) {
    return each.name == name;
  });
  return row == std::end(schedules) ? nullptr : row;
}

std::vector<Turn> lwcc::plan::turnsOf(const PipelineSchedule &schedule,
                                      int64_t stage, int64_t stages,
                                      int64_t batches) {
  std::vector<Turn> turns;
  int64_t forward = 0, weight = 0;
  auto go = [&](Phase phase, int64_t &batch, int64_t end) {
    for (; batch < std::min(end, batches); ++batch)
      turns.push_back({phase, batch});
  };
  go(Phase::forward, forward, schedule.warmUp(stage, stages, batches));
  for (int64_t batch = 0; batch < batches; ++batch) {
    turns.push_back({Phase::backward, batch});
    if (schedule.weightDelay)
      go(Phase::weight, weight, batch + 1 - schedule.weightDelay(stage));
    go(Phase::forward, forward, forward + 1);
  }
  if (schedule.weightDelay)
    go(Phase::weight, weight, batches);
  return turns;
}

PipelineStep lwcc::plan::stepOf(const PipelineSchedule &schedule,
                                llvm::ArrayRef<StageTimes> stages,
                                int64_t batches) {
  const auto count = static_cast<int64_t>(stages.size());
  const bool apart = schedule.weightDelay != nullptr;
  PipelineStep step;
  step.bubbles.assign(count, 0);
  step.stashes.assign(count, 0);
  std::vector<std::vector<Turn>> turns;
  for (int64_t s = 0; s < count; ++s)
    turns.push_back(turnsOf(schedule, s, count, batches));
  std::map<std::tuple<int64_t, Phase, int64_t>, double> ends; // stage, turn
  std::vector<size_t> taken(count, 0);
  std::vector<double> free(count, 0);
  std::vector<int64_t> held(count, 0);

  /// Takes the stage's next turn if what it waits for is over.
  auto take = [&](int64_t s) {
    Turn turn = turns[s][taken[s]];
    double start = free[s];
    bool back = turn.phase == Phase::backward;
    // Forward waits for the stage before, backward for the stage behind, or the
    // last stage's for its own forward turn.
    int64_t from = turn.phase == Phase::forward ? s - 1 : back ? s + 1 : s;
    if (from >= 0) {
      auto end = from == count
                     ? ends.find({s, Phase::forward, turn.batch})
                     : ends.find({from,
                                  turn.phase == Phase::weight ? Phase::backward
                                                              : turn.phase,
                                  turn.batch});
      if (end == ends.end())
        return false;
      start = std::max(start, end->second);
    }
    if (taken[s] > 0)
      step.bubbles[s] += start - free[s];
    const StageTimes &time = stages[s];
    free[s] = start + (turn.phase == Phase::forward ? time.forward
                       : back ? time.backward + (apart ? 0 : time.weight)
                              : time.weight);
    ends[{s, turn.phase, turn.batch}] = free[s];
    step.length = std::max(step.length, free[s]);
    if (turn.phase == Phase::forward)
      step.stashes[s] = std::max(step.stashes[s], ++held[s]);
    else if (turn.phase == (apart ? Phase::weight : Phase::backward))
      --held[s];
    ++taken[s];
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t s = 0; s < count; ++s)
      while (taken[s] < turns[s].size() && take(s))
        moved = true;
  }
  return step;
}

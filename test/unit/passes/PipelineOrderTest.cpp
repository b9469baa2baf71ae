//===- PipelineOrderTest.cpp - The table of pipeline schedules ------------===//

#include "passes/plan/solve/PipelineOrder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// What is published of a schedule with equal stages, for enough micro-batches:
/// the largest bubble, of the times of the phases, and the stashes.
struct Known {
  const char *name;
  double (*bubble)(double stages, double forward, double backward,
                   double weight);
  int64_t (*stashes)(int64_t stage, int64_t stages, int64_t batches);
};

double fillAndDrain(double stages, double forward, double backward,
                    double weight) {
  return (stages - 1) * (forward + backward + weight);
}

// Narayanan et al., "Efficient large-scale language model training", 2021, 2.2;
// Qi et al., "Zero Bubble Pipeline Parallelism", 2024, table 2.
const Known known[] = {
    {"gpipe", fillAndDrain,
     [](int64_t, int64_t, int64_t batches) { return batches; }},
    {"1f1b", fillAndDrain,
     [](int64_t s, int64_t count, int64_t) { return count - s; }},
    {"1f1b-eager", fillAndDrain,
     [](int64_t s, int64_t count, int64_t) { return 2 * (count - s) - 1; }},
    {"zb-h1",
     [](double stages, double forward, double backward, double weight) {
       return (stages - 1) * (forward + backward - weight);
     },
     [](int64_t, int64_t count, int64_t) { return count; }},
    {"zb-h2",
     [](double stages, double forward, double backward, double weight) {
       return (stages - 1) * (forward + backward - 2 * weight);
     },
     [](int64_t, int64_t count, int64_t) { return 2 * count - 1; }},
};

TEST(PipelineOrder, equalStagesHaveThePublishedBubblesAndStashes) {
  ASSERT_EQ(std::size(known), pipelineSchedules().size());
  for (const Known &row : known)
    for (int64_t count = 1; count <= 8; ++count)
      for (int64_t batches = 2 * count; batches <= 32; ++batches) {
        const PipelineSchedule *schedule = findPipelineSchedule(row.name);
        ASSERT_TRUE(schedule);
        PipelineStep step =
            stepOf(*schedule, std::vector<StageTimes>(count), batches);
        double most =
            *std::max_element(step.bubbles.begin(), step.bubbles.end());
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(count) +
                     " stages, " + std::to_string(batches) + " micro-batches");
        EXPECT_EQ(most, row.bubble(count, 1, 1, 1));
        // All but zb-h2 end where they began.
        EXPECT_EQ(step.length,
                  3.0 * batches +
                      (row.name == std::string("zb-h2") ? count - 1 : most));
        for (int64_t s = 0; s < count; ++s)
          EXPECT_EQ(step.stashes[s],
                    std::min(row.stashes(s, count, batches), batches));
      }
}

/// Whatever the times, a step takes at least what the slowest stage computes
/// and what one micro-batch takes through all stages.
TEST(PipelineOrder, everyTurnIsTakenOnceAndNoStepIsTooShort) {
  for (const PipelineSchedule &schedule : pipelineSchedules())
    for (int64_t count = 1; count <= 6; ++count)
      for (int64_t batches = 1; batches <= 9; ++batches) {
        std::vector<StageTimes> times;
        double slowest = 0, through = 0;
        for (int64_t s = 0; s < count; ++s) {
          times.push_back({1.0 + (s * 7 % 3), 2.0 + (s * 5 % 4), 0.5 + s % 2});
          const StageTimes &t = times.back();
          slowest =
              std::max(slowest, batches * (t.forward + t.backward + t.weight));
          through += t.forward + t.backward;
          std::vector<Turn> turns = turnsOf(schedule, s, count, batches);
          std::set<std::pair<Phase, int64_t>> once;
          for (Turn turn : turns)
            once.insert({turn.phase, turn.batch});
          EXPECT_EQ(once.size(), turns.size());
          EXPECT_EQ(turns.size(),
                    size_t(schedule.weightDelay ? 3 * batches : 2 * batches));
        }
        PipelineStep step = stepOf(schedule, times, batches);
        EXPECT_GE(step.length, std::max(slowest, through));
      }
}

} // namespace

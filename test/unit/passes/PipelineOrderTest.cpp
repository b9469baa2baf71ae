//===- PipelineOrderTest.cpp - The table of pipeline schedules ------------===//

#include "passes/plan/solve/PipelineOrder.h"

#include "gtest/gtest.h"

#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// What is published of a schedule with equal stages, for enough micro-batches:
/// the largest bubble (F, B and W are the times of the phases) and the stashes.
struct Known {
  const char *name;
  double (*bubble)(double stages, double F, double B, double W);
  int64_t (*stashes)(int64_t stage, int64_t stages, int64_t batches);
};

double fillAndDrain(double S, double F, double B, double W) {
  return (S - 1) * (F + B + W);
}

// Narayanan et al., "Efficient large-scale language model training", 2021, 2.2;
// Qi et al., "Zero Bubble Pipeline Parallelism", 2024, table 2.
const Known known[] = {
    {"gpipe", fillAndDrain, [](int64_t, int64_t, int64_t M) { return M; }},
    {"1f1b", fillAndDrain, [](int64_t s, int64_t S, int64_t) { return S - s; }},
    {"1f1b-eager", fillAndDrain,
     [](int64_t s, int64_t S, int64_t) { return 2 * (S - s) - 1; }},
    {"zb-h1",
     [](double S, double F, double B, double W) {
       return (S - 1) * (F + B - W);
     },
     [](int64_t, int64_t S, int64_t) { return S; }},
    {"zb-h2",
     [](double S, double F, double B, double W) {
       return (S - 1) * (F + B - 2 * W);
     },
     [](int64_t, int64_t S, int64_t) { return 2 * S - 1; }},
};

TEST(PipelineOrder, equalStagesHaveThePublishedBubblesAndStashes) {
  ASSERT_EQ(std::size(known), pipelineSchedules().size());
  for (const Known &row : known)
    for (int64_t S = 1; S <= 8; ++S)
      for (int64_t M = 2 * S; M <= 32; ++M) {
        const PipelineSchedule *schedule = findPipelineSchedule(row.name);
        ASSERT_TRUE(schedule);
        PipelineStep step = stepOf(*schedule, std::vector<StageTimes>(S), M);
        double most =
            *std::max_element(step.bubbles.begin(), step.bubbles.end());
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(S) +
                     " stages, " + std::to_string(M) + " micro-batches");
        EXPECT_EQ(most, row.bubble(S, 1, 1, 1));
        // All but zb-h2 end where they began.
        EXPECT_EQ(step.length,
                  3.0 * M + (row.name == std::string("zb-h2") ? S - 1 : most));
        for (int64_t s = 0; s < S; ++s)
          EXPECT_EQ(step.stashes[s], std::min(row.stashes(s, S, M), M));
      }
}

/// Whatever the times, a step takes at least what the slowest stage computes
/// and what one micro-batch takes through all stages.
TEST(PipelineOrder, everyTurnIsTakenOnceAndNoStepIsTooShort) {
  for (const PipelineSchedule &schedule : pipelineSchedules())
    for (int64_t S = 1; S <= 6; ++S)
      for (int64_t M = 1; M <= 9; ++M) {
        std::vector<StageTimes> times;
        double slowest = 0, through = 0;
        for (int64_t s = 0; s < S; ++s) {
          times.push_back({1.0 + (s * 7 % 3), 2.0 + (s * 5 % 4), 0.5 + s % 2});
          const StageTimes &t = times.back();
          slowest = std::max(slowest, M * (t.forward + t.backward + t.weight));
          through += t.forward + t.backward;
          std::vector<Turn> turns = turnsOf(schedule, s, S, M);
          std::set<std::pair<Phase, int64_t>> once;
          for (Turn turn : turns)
            once.insert({turn.phase, turn.batch});
          EXPECT_EQ(once.size(), turns.size());
          EXPECT_EQ(turns.size(), size_t(schedule.weightDelay ? 3 * M : 2 * M));
        }
        PipelineStep step = stepOf(schedule, times, M);
        EXPECT_GE(step.length, std::max(slowest, through));
      }
}

} // namespace

//===- ScheduleProblemTest.cpp - The order of a step ----------------------===//

#include "passes/schedule/ScheduleProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace lwcc;
using namespace lwcc::schedule;

namespace {

constexpr Phase fwd = Phase::forward, bwd = Phase::backward,
                upd = Phase::update;

TEST(Schedule, keepsProgramOrderWhereNothingSpeaksAgainstIt) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, fwd, 0, {}, {}},
                 {"b", 0, fwd, 0, {0}, {}},
                 {"c", 1, fwd, 0, {}, {}},
                 {"dgrad", 0, bwd, 0, {1, 2}, {}},
                 {"wgrad", 0, bwd, 0, {1, 2}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 1, 2, 3, 4}));
}

TEST(Schedule, anUpdateRunsAsSoonAsItsGradientExistsAndTheOldValueWasRead) {
  ScheduleProblem problem;
  problem.ops = {{"loss", 0, fwd, 0, {}, {}},
                 {"wgrad 2", 0, bwd, 0, {0}, {}},
                 {"dgrad 2 reads w2", 0, bwd, 0, {0}, {}},
                 {"wgrad 1", 0, bwd, 0, {2}, {}},
                 {"update 1", 0, upd, 0, {3}, {}},
                 {"update 2", 0, upd, 0, {1, 2}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 1, 2, 5, 3, 4}));
}

TEST(Schedule, ofUpdatesThatCouldRunTheNextStepsFirstNeedGoesFirst) {
  ScheduleProblem problem;
  problem.ops = {{"loss", 0, fwd, 0, {}, {}},
                 {"update 2", 0, upd, 2, {0}, {}},
                 {"update 3", 0, upd, 3, {0}, {}},
                 {"update 1", 0, upd, 1, {0}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 3, 1, 2}));
}

TEST(Schedule, drawsAFreeingOpForwardWhereThatLowersThePeak) {
  // The second op needs much memory; the third frees as much without making
  // any, and could run before.
  ScheduleProblem problem;
  problem.storages = {100, 100, 1};
  problem.ops = {{"make", 0, fwd, 0, {}, {0}},
                 {"grow", 0, bwd, 0, {}, {1}},
                 {"free", 0, bwd, 0, {0}, {0, 2}},
                 {"end", 0, bwd, 0, {1, 2}, {1, 2}}};
  EXPECT_EQ(solve(problem), (Order{0, 2, 1, 3}));
  EXPECT_EQ(peakOf(problem, {0, 1, 2, 3}), 201);
  EXPECT_EQ(peakOf(problem, {0, 2, 1, 3}), 101);
}

/// At every step the first ready backward op of those that free most, told by
/// asking all of them.
Order drawnForward(const ScheduleProblem &problem) {
  const size_t count = problem.ops.size();
  std::vector<bool> done(count, false);
  Order order;
  auto change = [&](int op) {
    int64_t bytes = 0;
    for (size_t s = 0; s < problem.storages.size(); ++s) {
      auto touches = [&](int other) {
        const std::vector<int> &all = problem.ops[other].storages;
        return std::find(all.begin(), all.end(), s) != all.end();
      };
      bool born = false, wanted = false;
      for (size_t other = 0; other < count; ++other) {
        born |= done[other] && touches(other);
        wanted |=
            !done[other] && static_cast<int>(other) != op && touches(other);
      }
      if (touches(op))
        bytes += (born ? 0 : problem.storages[s]) -
                 (wanted ? 0 : problem.storages[s]);
    }
    return bytes;
  };
  while (order.size() < count) {
    int best = -1;
    int64_t least = 0;
    for (int op = 0; op < static_cast<int>(count); ++op) {
      bool ready = !done[op];
      for (int before : problem.ops[op].after)
        ready = ready && done[before];
      if (ready && (best < 0 || change(op) < least)) {
        least = best < 0 ? std::min<int64_t>(0, change(op)) : change(op);
        best = op;
      }
    }
    done[best] = true;
    order.push_back(best);
  }
  return order;
}

TEST(Schedule, whatFreesMostIsKnownWithoutAskingAll) {
  std::mt19937 random(3);
  int drawn = 0;
  for (int trial = 0; trial < 300; ++trial) {
    ScheduleProblem problem;
    int ops = 3 + static_cast<int>(random() % 20);
    for (int s = 0; s < ops; ++s)
      problem.storages.push_back(random() % 4 * 10);
    for (int i = 0; i < ops; ++i) {
      Op op{"op", 0, bwd, 0, {}, {i}};
      for (int reads = static_cast<int>(random() % 4); i > 0 && reads > 0;
           --reads) {
        int read = static_cast<int>(random() % i);
        if (std::find(op.after.begin(), op.after.end(), read) != op.after.end())
          continue;
        op.after.push_back(read);
        op.storages.push_back(read);
      }
      problem.ops.push_back(op);
    }
    Order all(ops);
    std::iota(all.begin(), all.end(), 0);
    Order expected = drawnForward(problem);
    if (peakOf(problem, expected) >= peakOf(problem, all))
      expected = all;
    drawn += expected != all;
    EXPECT_EQ(solve(problem), expected) << "trial " << trial;
  }
  EXPECT_GT(drawn, 20);
}

/// Two lanes; lane 1 copies what lane 0 makes.
TEST(Schedule, whatALaneCanBeginFirstGoesFirstIfThatSavesTime) {
  // In program order the copy of the late op stands before that of the early
  // one, for which the last op waits.
  ScheduleProblem problem;
  problem.lanes = 2;
  problem.ops = {{.name = "early", .lane = 0, .phase = fwd, .ticks = 10},
                 {.name = "late", .lane = 0, .phase = fwd, .ticks = 100},
                 {.name = "copy late", .lane = 1, .after = {1}, .ticks = 10},
                 {.name = "copy early", .lane = 1, .after = {0}, .ticks = 10},
                 {.name = "use early", .lane = 0, .after = {3}, .ticks = 50},
                 {.name = "use late", .lane = 0, .after = {2}, .ticks = 10}};
  EXPECT_EQ(makespanOf(problem, {0, 1, 2, 3, 4, 5}), 190);
  EXPECT_EQ(makespanOf(problem, solve(problem)), 170);
  // Without times nothing speaks against program order.
  for (Op &op : problem.ops)
    op.ticks = 0;
  EXPECT_EQ(solve(problem), (Order{0, 1, 2, 3, 4, 5}));
}

TEST(Schedule,
     ofOrdersThatTakeAboutEquallyLongTheOneWithTheSmallestPeakIsTaken) {
  // "free" could go before "grow"; that is one tick in a hundred slower.
  ScheduleProblem problem;
  problem.lanes = 2;
  problem.storages = {100, 100, 1};
  problem.ops = {
      {.name = "make", .storages = {0}, .ticks = 10},
      {.name = "grow",
       .phase = bwd,
       .after = {0},
       .storages = {1},
       .ticks = 10},
      {.name = "free",
       .phase = bwd,
       .after = {0},
       .storages = {0, 2},
       .ticks = 1},
      {.name = "copy", .lane = 1, .phase = bwd, .after = {1}, .ticks = 100},
      {.name = "end",
       .phase = bwd,
       .after = {1, 2, 3},
       .storages = {1, 2},
       .ticks = 10}};
  Order order = solve(problem);
  EXPECT_EQ(peakOf(problem, order), 101);
  EXPECT_EQ(makespanOf(problem, order), 131);
  // Ten times that is too much.
  problem.ops[2].ticks = 10;
  order = solve(problem);
  EXPECT_EQ(peakOf(problem, order), 201);
  EXPECT_EQ(makespanOf(problem, order), 130);
}

TEST(Schedule, whatAnotherLaneWaitsForGoesBeforeGradientsOfParameters) {
  // The longest path to the end leads through the parameter's gradient. Only
  // the other lane, which must take three ops, is busy for longer.
  ScheduleProblem problem;
  problem.lanes = 2;
  problem.ops = {
      {.name = "loss", .ticks = 1},
      {.name = "wgrad", .phase = Phase::weight, .after = {0}, .ticks = 10},
      {.name = "dgrad", .phase = bwd, .after = {0}, .ticks = 10},
      {.name = "end of the task", .after = {1, 2}, .isBarrier = true},
      {.name = "next", .phase = bwd, .after = {3}, .ticks = 41},
      {.name = "dgrad", .lane = 1, .phase = bwd, .after = {2}, .ticks = 20},
      {.name = "dgrad", .lane = 1, .phase = bwd, .after = {5}, .ticks = 20},
      {.name = "dgrad", .lane = 1, .phase = bwd, .after = {5}, .ticks = 20}};
  EXPECT_EQ(makespanOf(problem, {0, 1, 2, 3, 4, 5, 6, 7}), 81);
  EXPECT_EQ(makespanOf(problem, solve(problem)), 71);
}

TEST(Schedule, aCycleHasNoOrder) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, fwd, 0, {1}, {}}, {"b", 0, fwd, 0, {0}, {}}};
  EXPECT_TRUE(solve(problem).empty());
}

TEST(Schedule, checkerObjectsToEveryKindOfMistake) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, fwd, 0, {}, {}}, {"b", 0, fwd, 0, {0}, {}}};
  EXPECT_EQ(verify(problem, {0, 1}), "");
  EXPECT_EQ(verify(problem, {1, 0}), "b runs before a");
  EXPECT_EQ(verify(problem, {0, 0}), "a runs twice");
  EXPECT_EQ(verify(problem, {0}), "b never runs");
}

TEST(Schedule, randomProblemsGetValidOrdersThatAreNoWorseThanProgramOrder) {
  std::mt19937 random(5);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int trial = 0; trial < 200; ++trial) {
    ScheduleProblem problem;
    int n = 1 + below(40);
    for (int s = 0; s < n; ++s)
      problem.storages.push_back(below(1000));
    for (int i = 0; i < n; ++i) {
      Op op{"op" + std::to_string(i),
            below(2),
            i < n / 2 ? fwd : bwd,
            0,
            {},
            {i}};
      for (int k = 0; i > 0 && k < below(4); ++k) {
        op.after.push_back(below(i));
        op.storages.push_back(op.after.back());
      }
      problem.ops.push_back(std::move(op));
    }
    Order order = solve(problem), program(n);
    std::iota(program.begin(), program.end(), 0);
    EXPECT_EQ(verify(problem, order), "");
    EXPECT_LE(peakOf(problem, order), peakOf(problem, program));
    EXPECT_EQ(solve(problem), order);
    // With times: no longer than program order, or little.
    problem.lanes = 2;
    for (Op &op : problem.ops)
      op.ticks = below(50);
    order = solve(problem);
    EXPECT_EQ(verify(problem, order), "");
    EXPECT_LE(static_cast<double>(makespanOf(problem, order)),
              1.02 * static_cast<double>(makespanOf(problem, program)));
    EXPECT_EQ(solve(problem), order);
  }
}

} // namespace

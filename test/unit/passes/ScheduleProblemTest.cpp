//===- ScheduleProblemTest.cpp - The order of a step ----------------------===//

#include "passes/schedule/ScheduleProblem.h"

#include "gtest/gtest.h"

#include <random>

using namespace lwcc::schedule;

namespace {

constexpr Phase F = Phase::forward, B = Phase::backward, U = Phase::update;

TEST(Schedule, keepsProgramOrderWhereNothingSpeaksAgainstIt) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, F, 0, {}, {}},
                 {"b", 0, F, 0, {0}, {}},
                 {"c", 1, F, 0, {}, {}},
                 {"dgrad", 0, B, 0, {1, 2}, {}},
                 {"wgrad", 0, B, 0, {1, 2}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 1, 2, 3, 4}));
}

TEST(Schedule, anUpdateRunsAsSoonAsItsGradientExistsAndTheOldValueWasRead) {
  ScheduleProblem problem;
  problem.ops = {{"loss", 0, F, 0, {}, {}},
                 {"wgrad 2", 0, B, 0, {0}, {}},
                 {"dgrad 2 reads w2", 0, B, 0, {0}, {}},
                 {"wgrad 1", 0, B, 0, {2}, {}},
                 {"update 1", 0, U, 0, {3}, {}},
                 {"update 2", 0, U, 0, {1, 2}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 1, 2, 5, 3, 4}));
}

TEST(Schedule, ofUpdatesThatCouldRunTheNextStepsFirstNeedGoesFirst) {
  ScheduleProblem problem;
  problem.ops = {{"loss", 0, F, 0, {}, {}},
                 {"update 2", 0, U, 2, {0}, {}},
                 {"update 3", 0, U, 3, {0}, {}},
                 {"update 1", 0, U, 1, {0}, {}}};
  EXPECT_EQ(solve(problem), (Order{0, 3, 1, 2}));
}

TEST(Schedule, drawsAFreeingOpForwardWhereThatLowersThePeak) {
  // The second op needs much memory; the third frees as much without making
  // any, and could run before.
  ScheduleProblem problem;
  problem.storages = {100, 100, 1};
  problem.ops = {{"make", 0, F, 0, {}, {0}},
                 {"grow", 0, B, 0, {}, {1}},
                 {"free", 0, B, 0, {0}, {0, 2}},
                 {"end", 0, B, 0, {1, 2}, {1, 2}}};
  EXPECT_EQ(solve(problem), (Order{0, 2, 1, 3}));
  EXPECT_EQ(peakOf(problem, {0, 1, 2, 3}), 201);
  EXPECT_EQ(peakOf(problem, {0, 2, 1, 3}), 101);
}

TEST(Schedule, aCycleHasNoOrder) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, F, 0, {1}, {}}, {"b", 0, F, 0, {0}, {}}};
  EXPECT_TRUE(solve(problem).empty());
}

TEST(Schedule, checkerObjectsToEveryKindOfMistake) {
  ScheduleProblem problem;
  problem.ops = {{"a", 0, F, 0, {}, {}}, {"b", 0, F, 0, {0}, {}}};
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
      Op op{"op" + std::to_string(i), below(2), i < n / 2 ? F : B, 0, {}, {i}};
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
  }
}

} // namespace

//===- MinSumTest.cpp - Elimination against brute force -------------------===//

#include "passes/plan/minsum/MinSum.h"
#include "passes/plan/minsum/DeadEnds.h"
#include "passes/plan/minsum/DepthFirst.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// A random problem: chains, branches, cycles; few different costs, so that
/// there are ties.
MinSum randomProblem(std::mt19937 &random, int variables, int mostValues) {
  auto upTo = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  MinSum problem;
  for (int v = 0; v < variables; ++v)
    problem.values.push_back(1 + upTo(mostValues - 1));
  auto add = [&](std::vector<int> over) {
    size_t size = 1;
    for (int v : over)
      size *= problem.values[v];
    Factor factor{std::move(over), {}};
    for (size_t i = 0; i < size; ++i)
      factor.costs.push_back(upTo(9));
    problem.factors.push_back(std::move(factor));
  };
  for (int v = 0; v < variables; ++v) {
    if (upTo(3) > 0)
      add({v});
    if (v > 0 && upTo(9) > 0)
      add({upTo(v - 1), v});
    if (v > 1 && upTo(2) == 0)
      add({v - 2, v});
  }
  return problem;
}

double leastByForce(const MinSum &problem) {
  std::vector<int> choice(problem.values.size(), 0);
  double least = problem.costOf(choice);
  for (size_t v = 0; v < choice.size();) {
    if (++choice[v] < problem.values[v]) {
      least = std::min(least, problem.costOf(choice));
      v = 0;
    } else {
      choice[v++] = 0;
    }
  }
  return least;
}

TEST(MinSum, isTheMinimumOnFiveHundredRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    MinSum problem = randomProblem(random, 1 + round % 8, 4);
    MinSumSolution solution = solve(problem);
    ASSERT_EQ(solution.choice.size(), problem.values.size());
    EXPECT_EQ(problem.costOf(solution.choice), solution.cost);
    EXPECT_EQ(solution.cost, leastByForce(problem)) << "round " << round;
    EXPECT_EQ(solution.bound, solution.cost);
  }
}

TEST(MinSum, manyValuesAreWalkedInBlocks) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    MinSum problem = randomProblem(random, 4, 20);
    EXPECT_EQ(solve(problem).cost, leastByForce(problem)) << "round " << round;
  }
}

TEST(MinSum, withoutDeadEndsTheLeastIsTheSame) {
  std::mt19937 random(13);
  int dropped = 0;
  for (int round = 0; round < 200; ++round) {
    MinSum problem = randomProblem(random, 6, 4), smaller = problem;
    std::vector<std::vector<int>> kept = dropDeadEnds(smaller);
    EXPECT_EQ(leastByForce(smaller), leastByForce(problem));
    std::vector<int> first(problem.values.size(), 0), original;
    for (size_t v = 0; v < kept.size(); ++v) {
      ASSERT_EQ(kept[v].size(), static_cast<size_t>(smaller.values[v]));
      original.push_back(kept[v][0]);
      dropped += problem.values[v] - smaller.values[v];
    }
    EXPECT_EQ(smaller.costOf(first), problem.costOf(original));
  }
  EXPECT_GT(dropped, 200);
}

TEST(MinSum, depthFirstSearchFindsTheSame) {
  std::mt19937 random(17);
  for (int round = 0; round < 500; ++round) {
    MinSum problem = randomProblem(random, 1 + round % 9, 5);
    DepthFirstSolution found = searchDepthFirst(problem, /*limit=*/1e7);
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(problem.costOf(found.choice), found.cost);
    EXPECT_EQ(found.cost, solve(problem).cost) << "round " << round;
  }
}

TEST(MinSum, depthFirstSearchGivesUpWithAChoice) {
  std::mt19937 random(19);
  for (int round = 0; round < 100; ++round) {
    MinSum problem = randomProblem(random, 8, 4);
    DepthFirstSolution found = searchDepthFirst(problem, /*limit=*/10);
    EXPECT_EQ(problem.costOf(found.choice), found.cost);
    EXPECT_GE(found.cost, solve(problem).cost);
    EXPECT_TRUE(found.finished || found.visited >= 10);
  }
}

TEST(MinSum, aChainAndADiamondHaveTheWidthsOfOptCnnsRules) {
  auto pair = [](int a, int b) {
    return Factor{{a, b}, std::vector<double>(9, 1)};
  };
  // Different costs, or all values but one would be dead ends.
  auto own = [](int v) { return Factor{{v}, {0, 0, 0}}; };
  auto varied = [&](int a, int b) {
    Factor factor = pair(a, b);
    for (int i = 0; i < 9; ++i)
      factor.costs[i] = (i * 7 + a * 5 + b * 3) % 9;
    return factor;
  };
  MinSum chain{{3, 3, 3, 3},
               {own(0), varied(0, 1), varied(1, 2), varied(2, 3)}};
  EXPECT_LE(solve(chain).width, 1);
  MinSum diamond{{3, 3, 3, 3},
                 {varied(0, 1), varied(0, 2), varied(1, 3), varied(2, 3)}};
  EXPECT_LE(solve(diamond).width, 2);
}

TEST(MinSum, whatDoesNotFitIsBounded) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    MinSum problem = randomProblem(random, 7, 4);
    MinSumSolution solution = solve(problem, /*limit=*/20);
    EXPECT_EQ(problem.costOf(solution.choice), solution.cost);
    double least = leastByForce(problem);
    EXPECT_LE(solution.bound, least);
    EXPECT_LE(least, solution.cost);
  }
}

} // namespace

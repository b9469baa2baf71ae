//===- HypergraphTest.cpp - Partitions against brute force ----------------===//

#include "passes/plan/hypergraph/Hypergraph.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// What a partition overloads and sends, counted anew.
std::pair<int64_t, int64_t> valueOf(const PartitionProblem &problem,
                                    const Partition &partition) {
  int64_t over = 0, sent = 0;
  for (int part = 0; part < problem.parts; ++part) {
    int64_t weight = 0, size = 0;
    for (size_t v = 0; v < partition.size(); ++v)
      if (partition[v] == part) {
        weight += problem.graph.weights[v];
        size += problem.graph.sizes[v];
      }
    over += std::max<int64_t>(0, weight - problem.mostWeight) +
            std::max<int64_t>(0, size - problem.mostSize);
  }
  for (const Hypergraph::Net &net : problem.graph.nets) {
    std::set<int> parts;
    for (int pin : net.pins)
      parts.insert(partition[pin]);
    sent += net.cost * (static_cast<int64_t>(parts.size()) - 1);
  }
  return {over, sent};
}

PartitionProblem randomProblem(std::mt19937 &random, int vertices) {
  auto upTo = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  PartitionProblem problem;
  problem.parts = 2 + upTo(2);
  int64_t weight = 0, size = 0;
  for (int v = 0; v < vertices; ++v) {
    weight += problem.graph.weights.emplace_back(1 + upTo(8));
    size += problem.graph.sizes.emplace_back(upTo(3));
  }
  problem.mostWeight = weight * (100 + upTo(30)) / 100 / problem.parts;
  if (upTo(1))
    problem.mostSize = size / problem.parts + upTo(2);
  for (int nets = 2 + upTo(2 * vertices); nets > 0; --nets) {
    Hypergraph::Net net{1 + upTo(6), {}};
    for (int v = 0; v < vertices; ++v)
      if (upTo(2) == 0)
        net.pins.push_back(v);
    if (!net.pins.empty())
      problem.graph.nets.push_back(net);
  }
  return problem;
}

TEST(Hypergraph, isExactOnFiveHundredSmallGraphs) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    PartitionProblem problem = randomProblem(random, 3 + i % 6);
    PartitionSolution found = partition(problem);
    std::vector<int> parts(problem.graph.weights.size(), 0);
    std::pair<int64_t, int64_t> least = valueOf(problem, parts);
    for (size_t v = 0; v < parts.size();) {
      if (++parts[v] < problem.parts) {
        least = std::min(least, valueOf(problem, parts));
        v = 0;
      } else {
        parts[v++] = 0;
      }
    }
    ASSERT_TRUE(found.exact) << i;
    ASSERT_EQ(std::pair(found.overload, found.km1), least) << i;
    ASSERT_EQ(valueOf(problem, found.partition), least) << i;
  }
}

TEST(Hypergraph, saysOfLargeGraphsWhatTheyAre) {
  std::mt19937 random(8);
  for (int i = 0; i < 10; ++i) {
    PartitionProblem problem = randomProblem(random, 60);
    PartitionSolution found = partition(problem);
    EXPECT_FALSE(found.exact);
    EXPECT_EQ(valueOf(problem, found.partition),
              std::pair(found.overload, found.km1));
  }
}

/// Cliques that single light nets join: there is one best partition.
TEST(Hypergraph, findsCliquesInALargeGraph) {
  PartitionProblem problem;
  problem.parts = 4;
  constexpr int each = 25;
  for (int v = 0; v < problem.parts * each; ++v) {
    problem.graph.weights.push_back(1);
    problem.graph.sizes.push_back(1);
    for (int u = v - v % each; u < v; ++u)
      problem.graph.nets.push_back({5, {u, v}});
    if (v > 0 && v % each == 0)
      problem.graph.nets.push_back({1, {v - 1, v}});
  }
  problem.mostWeight = each;
  PartitionSolution found = partition(problem);
  EXPECT_EQ(found.overload, 0);
  EXPECT_EQ(found.km1, problem.parts - 1);
}

TEST(Hypergraph, reducedGraphsSendAsMuch) {
  std::mt19937 random(9);
  for (int i = 0; i < 100; ++i) {
    PartitionProblem problem = randomProblem(random, 10);
    Hypergraph reduced = problem.graph.reduced();
    Partition parts;
    for (int v = 0; v < 10; ++v)
      parts.push_back(static_cast<int>(random() % problem.parts));
    EXPECT_EQ(km1(reduced, parts), km1(problem.graph, parts));
  }
}

} // namespace

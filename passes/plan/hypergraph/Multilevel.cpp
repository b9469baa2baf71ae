//===- Multilevel.cpp - Partitions of large hypergraphs -------------------===//
//
// Vertices that share much become one, again and again, until few are left.
// These are given to parts in several ways; then each vertex is taken apart
// again, and every time the partition is refined. All of that is done several
// times, and the best is taken. In a further cycle only vertices of one part
// become one, so that what is there is a partition of the coarse graph, too.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/hypergraph/BranchAndBound.h"
#include "passes/plan/hypergraph/Hypergraph.h"
#include "passes/plan/hypergraph/Refine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// A coarse graph, and which of its vertices each vertex became.
struct Coarse {
  PartitionProblem problem;
  std::vector<int> became;
};

using Random = std::mt19937_64;
using Value = std::pair<int64_t, int64_t>; ///< overload, km1
} // namespace

static Value valueOf(const PartitionProblem &problem,
                     const Partition &partition) {
  return {overload(problem, partition), km1(problem.graph, partition)};
}

/// Makes pairs of vertices one: each goes, in random order, with the one that
/// it shares the most with, net by net its cost by the number of other pins.
/// None becomes heavier than `mostWeight`. If `parts` is not null, both are of
/// one part.
static Coarse coarsen(const PartitionProblem &problem, int64_t mostWeight,
                      const Partition *parts, Random &random) {
  const Hypergraph &graph = problem.graph;
  const size_t count = graph.weights.size();
  std::vector<std::vector<int>> netsOf(count);
  for (auto [n, net] : llvm::enumerate(graph.nets))
    for (int pin : net.pins)
      netsOf[pin].push_back(static_cast<int>(n));
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Coarse coarse;
  coarse.became.assign(count, -1);
  Hypergraph &made = coarse.problem.graph;
  std::vector<double> shared(count, 0);
  std::vector<int> touched;
  for (int v : order) {
    if (coarse.became[v] >= 0)
      continue;
    touched.clear();
    for (int n : netsOf[v]) {
      const Hypergraph::Net &net = graph.nets[n];
      double each = static_cast<double>(net.cost) /
                    static_cast<double>(net.pins.size() - 1);
      for (int pin : net.pins) {
        if (pin == v || coarse.became[pin] >= 0)
          continue;
        if (shared[pin] == 0)
          touched.push_back(pin);
        shared[pin] += each;
      }
    }
    int with = -1;
    for (int u : touched)
      if (graph.weights[u] + graph.weights[v] <= mostWeight &&
          (!parts || (*parts)[u] == (*parts)[v]) &&
          (with < 0 || shared[u] > shared[with]))
        with = u;
    for (int u : touched)
      shared[u] = 0;
    coarse.became[v] = static_cast<int>(made.weights.size());
    made.weights.push_back(graph.weights[v]);
    made.sizes.push_back(graph.sizes[v]);
    if (with >= 0) {
      coarse.became[with] = coarse.became[v];
      made.weights.back() += graph.weights[with];
      made.sizes.back() += graph.sizes[with];
    }
  }
  for (const Hypergraph::Net &net : graph.nets) {
    Hypergraph::Net seen{net.cost, {}};
    for (int pin : net.pins)
      seen.pins.push_back(coarse.became[pin]);
    llvm::sort(seen.pins);
    seen.pins.erase(llvm::unique(seen.pins), seen.pins.end());
    made.nets.push_back(std::move(seen));
  }
  made = made.reduced();
  coarse.problem.parts = problem.parts;
  coarse.problem.mostWeight = problem.mostWeight;
  coarse.problem.mostSize = problem.mostSize;
  return coarse;
}

/// Some order of the vertices, cut into runs of equal weight: by number, which
/// may mean something, or as they are found from a random vertex on.
static Partition firstPartition(const PartitionProblem &problem, bool byNumber,
                                Random &random) {
  const Hypergraph &graph = problem.graph;
  const size_t count = graph.weights.size();
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!byNumber) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::vector<int>> netsOf(count);
    for (auto [n, net] : llvm::enumerate(graph.nets))
      for (int pin : net.pins)
        netsOf[pin].push_back(static_cast<int>(n));
    std::vector<int> found;
    std::vector<char> isFound(count, 0);
    for (int start : order) {
      if (isFound[start])
        continue;
      isFound[start] = 1;
      found.push_back(start);
      for (size_t i = found.size() - 1; i < found.size(); ++i)
        for (int n : netsOf[found[i]])
          for (int pin : graph.nets[n].pins)
            if (!std::exchange(isFound[pin], 1))
              found.push_back(pin);
    }
    order = std::move(found);
  }
  double total = 0;
  for (int64_t weight : graph.weights)
    total += static_cast<double>(weight);
  Partition partition(count, 0);
  double before = 0;
  for (int v : order) {
    auto weight = static_cast<double>(graph.weights[v]);
    double middle = (before + weight / 2) / std::max(total, 1.0);
    partition[v] =
        std::min(problem.parts - 1, static_cast<int>(middle * problem.parts));
    before += weight;
  }
  return partition;
}

/// A partition of a coarse graph: the best of several that were refined.
static Partition bestOfFirst(const PartitionProblem &problem, Random &random) {
  constexpr int tries = 8;
  Partition best;
  Value least;
  for (int i = 0; i < tries; ++i) {
    Partition each = firstPartition(problem, /*byNumber=*/i == 0, random);
    refine(problem, each, random);
    if (Value value = valueOf(problem, each); best.empty() || value < least) {
      best = std::move(each);
      least = value;
    }
  }
  return best;
}

/// Coarsens, partitions and refines. With `known`, which must not be null in a
/// further cycle, nothing becomes worse.
static Partition cycle(const PartitionProblem &problem, const Partition *known,
                       int64_t mostWeight, Random &random) {
  const size_t few = std::max<size_t>(mostExact, 6 * problem.parts);
  const size_t count = problem.graph.weights.size();
  auto ofSmallest = [&] {
    Partition partition = known ? *known : bestOfFirst(problem, random);
    refine(problem, partition, random);
    return partition;
  };
  if (count <= few)
    return ofSmallest();
  Coarse coarse = coarsen(problem, mostWeight, known, random);
  const size_t left = coarse.problem.graph.weights.size();
  if (left * 20 > count * 19)
    return ofSmallest(); // hardly any vertex went with another
  Partition seen(left, 0);
  for (size_t v = 0; known && v < count; ++v)
    seen[coarse.became[v]] = (*known)[v];
  Partition above =
      cycle(coarse.problem, known ? &seen : nullptr, mostWeight, random);
  Partition partition(count);
  for (size_t v = 0; v < count; ++v)
    partition[v] = above[coarse.became[v]];
  refine(problem, partition, random);
  return partition;
}

PartitionSolution lwcc::plan::partition(const PartitionProblem &given,
                                        uint64_t seed) {
  PartitionProblem problem = given;
  problem.graph = given.graph.reduced();
  Random random(seed);
  int64_t total = 0;
  for (int64_t weight : problem.graph.weights)
    total += weight;
  constexpr int starts = 12, cycles = 4;
  PartitionSolution best;
  auto consider = [&](Partition found) {
    Value value = valueOf(problem, found);
    if (!best.partition.empty() && value >= Value(best.overload, best.km1))
      return false;
    best = {std::move(found), value.first, value.second, false};
    return true;
  };
  consider(Partition(problem.graph.weights.size(), 0));
  for (int start = 0; start < starts && problem.parts > 1; ++start) {
    // Heavy vertices of a coarse graph leave few ways to balance it.
    const int64_t mostWeight =
        std::max<int64_t>(1, total / (problem.parts * (2 + 2 * (start % 4))));
    Partition found = cycle(problem, nullptr, mostWeight, random);
    for (int i = 0; i < cycles; ++i) {
      Partition again = cycle(problem, &found, mostWeight, random);
      bool better = valueOf(problem, again) < valueOf(problem, found);
      found = std::move(again);
      if (!better && i > 0)
        break;
    }
    consider(std::move(found));
  }
  if (problem.graph.weights.size() <= mostExact)
    branchAndBound(problem, best);
  return best;
}

//===- BranchAndBound.cpp - The best partition of a small graph -----------===//

#include "passes/plan/hypergraph/BranchAndBound.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
class Search {
public:
  Search(const PartitionProblem &problem, PartitionSolution &known,
         int64_t limit)
      : problem(problem), graph(problem.graph), known(known), left(limit),
        order(graph.weights.size()), partition(graph.weights.size(), -1),
        netsOf(graph.weights.size()),
        counts(graph.nets.size() * problem.parts, 0), weights(problem.parts, 0),
        sizes(problem.parts, 0),
        restWeight(std::accumulate(graph.weights.begin(), graph.weights.end(),
                                   int64_t(0))) {
    // Heavy vertices first: where they fit decides most.
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](int a, int b) {
      return graph.weights[a] > graph.weights[b];
    });
    for (auto [n, net] : llvm::enumerate(graph.nets))
      for (int pin : net.pins)
        netsOf[pin].push_back(static_cast<int>(n));
  }

  /// Returns whether the search came to its end.
  bool run() {
    give(0, 0, 0, 0);
    return left > 0;
  }

private:
  int64_t over() const {
    int64_t sum = 0, room = 0;
    for (int part = 0; part < problem.parts; ++part) {
      sum += std::max<int64_t>(0, weights[part] - problem.mostWeight) +
             std::max<int64_t>(0, sizes[part] - problem.mostSize);
      if (problem.mostWeight < std::numeric_limits<int64_t>::max())
        room += std::max<int64_t>(0, problem.mostWeight - weights[part]);
      else
        return sum;
    }
    return sum + std::max<int64_t>(0, restWeight - room);
  }

  void give(size_t next, int used, int64_t cost, int64_t overload) {
    if (--left <= 0)
      return;
    if (std::pair(overload, cost) >= std::pair(known.overload, known.km1))
      return;
    if (next == order.size()) {
      known.partition = partition;
      known.overload = overload;
      known.km1 = cost;
      return;
    }
    const int v = order[next];
    restWeight -= graph.weights[v];
    for (int part = 0; part < std::min(used + 1, problem.parts); ++part) {
      int64_t more = cost;
      for (int n : netsOf[v]) {
        int *pins = &counts[static_cast<size_t>(n) * problem.parts];
        bool isThere = pins[part]++ > 0;
        bool isElsewhere = false;
        for (int other = 0; other < problem.parts; ++other)
          isElsewhere |= other != part && pins[other] > 0;
        more += isThere || !isElsewhere ? 0 : graph.nets[n].cost;
      }
      partition[v] = part;
      weights[part] += graph.weights[v];
      sizes[part] += graph.sizes[v];
      give(next + 1, std::max(used, part + 1), more, over());
      weights[part] -= graph.weights[v];
      sizes[part] -= graph.sizes[v];
      for (int n : netsOf[v])
        --counts[static_cast<size_t>(n) * problem.parts + part];
    }
    restWeight += graph.weights[v];
  }

  const PartitionProblem &problem;
  const Hypergraph &graph;
  PartitionSolution &known;
  int64_t left;
  std::vector<int> order; ///< of vertices
  Partition partition;
  std::vector<std::vector<int>> netsOf; ///< of each vertex
  std::vector<int> counts;              ///< pins, [net][part]
  std::vector<int64_t> weights, sizes;  ///< of each part
  int64_t restWeight;                   ///< of vertices without a part
};
} // namespace

void lwcc::plan::branchAndBound(const PartitionProblem &problem,
                                PartitionSolution &known, int64_t limit) {
  known.exact = Search(problem, known, limit).run();
}

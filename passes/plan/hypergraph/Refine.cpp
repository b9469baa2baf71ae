//===- Refine.cpp - A partition made better, vertex by vertex -------------===//

#include "passes/plan/hypergraph/Refine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// A partition with what moves of its vertices would gain.
class Mover {
public:
  Mover(const PartitionProblem &problem, Partition &partition);
  /// Returns whether the pass helped.
  bool pass(std::mt19937_64 &random);

private:
  struct Move {
    int vertex, from, to;
  };
  /// What a state is worth; less is better.
  using Value = std::pair<int64_t, int64_t>; ///< overload, km1

  int64_t &penalty(int vertex, int part) {
    return penalties[vertex * parts + part];
  }
  int &pinsIn(size_t net, int part) { return counts[net * parts + part]; }
  int64_t over(int64_t weight, int64_t size) const {
    return std::max<int64_t>(0, weight - problem.mostWeight) +
           std::max<int64_t>(0, size - problem.mostSize);
  }
  int64_t change(int vertex, int to) const;
  /// The least that change() can be, whatever part the vertex moves to.
  int64_t leastChange(int vertex) const;
  bool select(llvm::ArrayRef<int> order, const std::vector<char> &moved,
              Move &best);
  void apply(int vertex, int to);

  const PartitionProblem &problem;
  const Hypergraph &graph;
  const int parts;
  Partition &partition;
  std::vector<std::vector<int>> netsOf; ///< of each vertex
  std::vector<int> counts;              ///< pins, [net][part]
  std::vector<int64_t> benefits;  ///< of each vertex: what its leaving saves
  std::vector<int64_t> penalties; ///< [vertex][part]: what its coming costs
  /// Of each vertex: no part that it is not in has a smaller penalty.
  std::vector<int64_t> leastPenalty;
  std::vector<int64_t> weights, sizes; ///< of each part
  Value value;
};
} // namespace

Mover::Mover(const PartitionProblem &problem, Partition &partition)
    : problem(problem), graph(problem.graph), parts(problem.parts),
      partition(partition), netsOf(partition.size()),
      counts(graph.nets.size() * parts, 0), benefits(partition.size(), 0),
      penalties(partition.size() * parts, 0), leastPenalty(partition.size(), 0),
      weights(parts, 0), sizes(parts, 0),
      value{overload(problem, partition), km1(graph, partition)} {
  for (auto [v, part] : llvm::enumerate(partition)) {
    weights[part] += graph.weights[v];
    sizes[part] += graph.sizes[v];
  }
  for (auto [n, net] : llvm::enumerate(graph.nets)) {
    for (int pin : net.pins) {
      netsOf[pin].push_back(static_cast<int>(n));
      ++pinsIn(n, partition[pin]);
    }
    for (int pin : net.pins) {
      if (pinsIn(n, partition[pin]) == 1)
        benefits[pin] += net.cost;
      for (int part = 0; part < parts; ++part)
        if (pinsIn(n, part) == 0)
          penalty(pin, part) += net.cost;
    }
  }
}

/// By how much the overload grows if a vertex moves.
int64_t Mover::change(int vertex, int to) const {
  const int from = partition[vertex];
  int64_t weight = graph.weights[vertex], size = graph.sizes[vertex];
  return over(weights[from] - weight, sizes[from] - size) -
         over(weights[from], sizes[from]) +
         over(weights[to] + weight, sizes[to] + size) -
         over(weights[to], sizes[to]);
}

int64_t Mover::leastChange(int vertex) const {
  const int from = partition[vertex];
  return over(weights[from] - graph.weights[vertex],
              sizes[from] - graph.sizes[vertex]) -
         over(weights[from], sizes[from]);
}

void Mover::apply(int vertex, int to) {
  const int from = partition[vertex];
  value.first += change(vertex, to);
  value.second -= benefits[vertex] - penalty(vertex, to);
  for (int n : netsOf[vertex]) {
    const Hypergraph::Net &net = graph.nets[n];
    int &left = pinsIn(n, from), &come = pinsIn(n, to);
    // Only where a part has no pin, or one, do gains change.
    auto alone = [&](int part, int64_t cost) {
      for (int pin : net.pins)
        if (partition[pin] == part)
          benefits[pin] += cost;
    };
    auto absent = [&](int part, int64_t cost) {
      for (int pin : net.pins) {
        penalty(pin, part) += cost;
        leastPenalty[pin] = std::min(leastPenalty[pin], penalty(pin, part));
      }
    };
    if (left == 1)
      benefits[vertex] -= net.cost;
    if (come == 1)
      alone(to, -net.cost);
    else if (come == 0)
      absent(to, -net.cost);
    partition[vertex] = to;
    --left;
    ++come;
    if (come == 1)
      benefits[vertex] += net.cost;
    if (left == 1)
      alone(from, net.cost);
    else if (left == 0)
      absent(from, net.cost);
    partition[vertex] = from; // for the next net
  }
  partition[vertex] = to;
  leastPenalty[vertex] = std::min(leastPenalty[vertex], penalty(vertex, from));
  weights[from] -= graph.weights[vertex];
  sizes[from] -= graph.sizes[vertex];
  weights[to] += graph.weights[vertex];
  sizes[to] += graph.sizes[vertex];
}

/// The best move of those that are left. Where parts are overloaded, only moves
/// that help there count, if there is one.
bool Mover::select(llvm::ArrayRef<int> order, const std::vector<char> &moved,
                   Move &best) {
  bool found = false;
  std::pair<int64_t, int64_t> least; // overload, loss
  for (int v : order) {
    if (moved[v])
      continue;
    // Most moves could not be the best whatever they mean for the loads.
    const int64_t saved = value.first > 0 ? leastChange(v) : 0;
    auto isWorse = [&](int64_t loss) {
      return found && std::pair(saved, loss) >= least;
    };
    if (isWorse(leastPenalty[v] - benefits[v]))
      continue;
    leastPenalty[v] = std::numeric_limits<int64_t>::max();
    for (int to = 0; to < parts; ++to) {
      if (to == partition[v])
        continue;
      leastPenalty[v] = std::min(leastPenalty[v], penalty(v, to));
      const int64_t loss = penalty(v, to) - benefits[v];
      if (isWorse(loss))
        continue;
      int64_t change = this->change(v, to);
      // Above the limit by less than this vertex.
      if (change > 0 && (value.first > 0 || change > graph.weights[v]))
        continue;
      std::pair<int64_t, int64_t> each = {
          value.first > 0 ? std::min<int64_t>(change, 0) : 0, loss};
      if (value.first == 0 && change > 0)
        each.first = 1; // only if nothing else is left
      if (found && each >= least)
        continue;
      found = true;
      least = each;
      best = {v, partition[v], to};
    }
  }
  return found;
}

bool Mover::pass(std::mt19937_64 &random) {
  std::vector<int> order(partition.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<char> moved(partition.size(), 0);
  std::vector<Move> moves;
  const Value before = value;
  Value best = value;
  size_t bestLength = 0;
  // A pass that has not helped for so long will not.
  const size_t patience = 50 + partition.size() / 4;
  for (Move move;
       moves.size() < bestLength + patience && select(order, moved, move);) {
    apply(move.vertex, move.to);
    moved[move.vertex] = 1;
    moves.push_back(move);
    if (value < best) {
      best = value;
      bestLength = moves.size();
    }
  }
  for (const Move &move :
       llvm::reverse(llvm::ArrayRef(moves).drop_front(bestLength)))
    apply(move.vertex, move.from);
  return value < before;
}

void lwcc::plan::refine(const PartitionProblem &problem, Partition &partition,
                        std::mt19937_64 &random) {
  Mover mover(problem, partition);
  while (mover.pass(random)) {
  }
}

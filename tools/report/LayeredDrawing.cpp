//===- LayeredDrawing.cpp - Where a graph's nodes are drawn ---------------===//

#include "tools/report/LayeredDrawing.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace lwcc;
using namespace lwcc::report;

namespace {
/// Longer edges than this budget allows are drawn without bends.
constexpr size_t mostBends = 50000;
constexpr int orderingSweeps = 16, placingSweeps = 24;
/// Edges are kept straight where they pass, rather than where they end.
constexpr double straightness = 4;

/// The nodes of a graph, and the bends of its edges as further nodes. Every
/// edge of it leads to the next rank.
class Ranked {
public:
  Ranked(int nodes, llvm::ArrayRef<WeightedEdge> edges, Spacing spacing)
      : real(nodes), spacing(spacing), rank(ranksOf(nodes, edges)) {
    above.resize(nodes);
    below.resize(nodes);
    drawing.rank = rank;
    addEdges(edges);
    ranks.resize(1 + *llvm::max_element(rank));
    for (size_t i = 0; i < rank.size(); ++i)
      ranks[rank[i]].push_back(static_cast<int>(i));
  }

  LayeredDrawing draw() {
    order();
    place();
    drawing.ranks = static_cast<int>(ranks.size());
    drawing.x.assign(x.begin(), x.begin() + real);
    for (auto [edge, bends] : llvm::zip_equal(drawing.edges, bendsOf))
      for (int bend : bends)
        edge.bends.push_back(x[bend]);
    return std::move(drawing);
  }

private:
  struct Neighbour {
    int node;
    double weight;
  };
  using Neighbours = std::vector<Neighbour>;

  /// One more than the largest rank of what a node reads. Of a cycle the first
  /// node comes first.
  static std::vector<int> ranksOf(int nodes,
                                  llvm::ArrayRef<WeightedEdge> edges) {
    std::vector<std::vector<int>> readers(nodes);
    std::vector<int> waits(nodes, 0), rank(nodes, 0);
    for (auto [from, to, weight] : edges) {
      readers[from].push_back(to);
      ++waits[to];
    }
    std::set<std::pair<int, int>> open; // by what they still wait for
    for (int i = 0; i < nodes; ++i)
      open.insert({waits[i], i});
    while (!open.empty()) {
      const int node = open.begin()->second;
      open.erase(open.begin());
      for (int reader : readers[node])
        if (open.erase({waits[reader], reader})) {
          rank[reader] = std::max(rank[reader], rank[node] + 1);
          open.insert({--waits[reader], reader});
        }
    }
    return rank;
  }

  void addEdges(llvm::ArrayRef<WeightedEdge> edges) {
    std::vector<size_t> byLength(edges.size());
    std::iota(byLength.begin(), byLength.end(), 0);
    auto lengthOf = [&](size_t edge) {
      return rank[edges[edge].to] - rank[edges[edge].from];
    };
    llvm::stable_sort(byLength, [&](size_t a, size_t b) {
      return lengthOf(a) < lengthOf(b);
    });
    bendsOf.resize(edges.size());
    for (size_t edge : byLength) {
      const auto [from, to, weight] = edges[edge];
      if (lengthOf(edge) < 1 || rank.size() - real + lengthOf(edge) > mostBends)
        continue;
      int last = from;
      for (int passed = rank[from] + 1; passed < rank[to]; ++passed) {
        const int bend = static_cast<int>(rank.size());
        rank.push_back(passed);
        above.emplace_back();
        below.emplace_back();
        bendsOf[edge].push_back(bend);
        connect(last, bend, weight);
        last = bend;
      }
      connect(last, to, weight);
    }
    for (auto [from, to, weight] : edges)
      drawing.edges.push_back({from, to, {}});
  }

  void connect(int upper, int lower, double weight) {
    if (upper >= real && lower >= real)
      weight *= straightness;
    below[upper].push_back({lower, weight});
    above[lower].push_back({upper, weight});
  }

  /// Orders each rank by the mean position of neighbours, downwards and upwards
  /// in turn, and keeps the order with the fewest crossings.
  void order() {
    position.resize(rank.size());
    auto number = [&] {
      for (const std::vector<int> &row : ranks)
        for (size_t i = 0; i < row.size(); ++i)
          position[row[i]] = static_cast<double>(i);
    };
    number();
    auto best = ranks;
    size_t fewest = crossings();
    for (int sweep = 0; sweep < orderingSweeps && fewest > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 1; i < ranks.size(); ++i) {
        auto &row = ranks[down ? i : ranks.size() - 1 - i];
        const auto &neighbours = down ? above : below;
        std::vector<std::pair<double, int>> keyed;
        for (int node : row) {
          double sum = 0;
          for (auto [neighbour, weight] : neighbours[node])
            sum += position[neighbour];
          keyed.emplace_back(
              neighbours[node].empty()
                  ? position[node]
                  : sum / static_cast<double>(neighbours[node].size()),
              node);
        }
        llvm::stable_sort(keyed, llvm::less_first());
        for (size_t k = 0; k < row.size(); ++k) {
          row[k] = keyed[k].second;
          position[row[k]] = static_cast<double>(k);
        }
      }
      if (size_t count = crossings(); count < fewest) {
        fewest = count;
        best = ranks;
      }
    }
    ranks = std::move(best);
    number();
  }

  size_t crossings() const {
    size_t count = 0;
    for (const std::vector<int> &row : ranks) {
      std::vector<double> ends; // of the edges so far
      for (int node : row) {
        std::vector<double> own;
        for (auto [lower, weight] : below[node])
          own.push_back(position[lower]);
        for (double end : own)
          count += llvm::count_if(ends, [&](double e) { return e > end; });
        llvm::append_range(ends, own);
      }
    }
    return count;
  }

  double halfOf(int node) const {
    return (node < real ? spacing.node : spacing.edge) / 2;
  }

  /// Gives each rank in turn the places that are nearest to the means of its
  /// neighbours, in the least squares, and far enough from each other.
  void place() {
    x.assign(rank.size(), 0);
    for (const std::vector<int> &row : ranks) {
      double at = 0;
      for (int node : row) {
        x[node] = at + halfOf(node);
        at += 2 * halfOf(node);
      }
    }
    for (int sweep = 0; sweep < placingSweeps; ++sweep)
      for (size_t i = 0; i < ranks.size(); ++i)
        placeRank(ranks[sweep % 2 ? ranks.size() - 1 - i : i],
                  sweep + 2 >= placingSweeps ? nullptr
                  : sweep % 2                ? &below
                                             : &above);
    double least = 0, most = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double half = halfOf(static_cast<int>(i));
      least = i ? std::min(least, x[i] - half) : x[i] - half;
      most = i ? std::max(most, x[i] + half) : x[i] + half;
    }
    for (double &each : x)
      each -= least;
    drawing.width = most - least;
  }

  /// Without `side` both sides count.
  void placeRank(const std::vector<int> &row,
                 const std::vector<Neighbours> *side) {
    // What a node wants, less what the nodes before it take, must not fall
    // along the rank: pools of neighbours that would fall take their mean.
    struct Pool {
      double sum, weight;
      size_t count;
      double mean() const { return sum / weight; }
    };
    std::vector<Pool> pools;
    std::vector<double> offset;
    double at = 0;
    for (int node : row) {
      offset.push_back(at + halfOf(node));
      at += 2 * halfOf(node);
      double sum = 0, weight = 0;
      auto look = [&](const std::vector<Neighbours> &neighbours) {
        for (auto [neighbour, w] : neighbours[node]) {
          sum += w * x[neighbour];
          weight += w;
        }
      };
      if (side) {
        look(*side);
      } else {
        look(above);
        look(below);
      }
      if (weight == 0) { // nobody asks for it
        weight = 0.01;
        sum = weight * x[node];
      }
      pools.push_back({sum - weight * offset.back(), weight, 1});
      while (pools.size() > 1 &&
             pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().weight += last.weight;
        pools.back().count += last.count;
      }
    }
    size_t i = 0;
    for (const Pool &pool : pools)
      for (size_t k = 0; k < pool.count; ++k, ++i)
        x[row[i]] = pool.mean() + offset[i];
  }

  const int real; ///< nodes; those behind them are bends
  const Spacing spacing;
  std::vector<int> rank;
  std::vector<Neighbours> above, below; ///< of each node
  std::vector<std::vector<int>> ranks, bendsOf;
  std::vector<double> position, x;
  LayeredDrawing drawing;
};
} // namespace

LayeredDrawing report::drawLayered(int nodes,
                                   llvm::ArrayRef<WeightedEdge> edges,
                                   Spacing spacing) {
  if (nodes == 0)
    return {};
  return Ranked(nodes, edges, spacing).draw();
}

//===- Layerwise.cpp - The exact layer-wise search --------------*- C++ -*-===//
//
// Jia et al., "Exploring Hidden Dimensions in Parallelizing Convolutional
// Neural Networks", 2018: of all ways to cut each layer, with as many equal
// tiles as the machine has devices or a divisor of them, tile i on device i,
// those whose sum of costs (Price.h) is least. Found by elimination (MinSum.h).
// Elementwise layers are cut like what they follow. Beyond the paper, layers
// are cut along their reduction, too.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/MinSum.h"
#include "passes/plan/Price.h"
#include "passes/plan/Solvers.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace lwcc::plan;

/// All degrees whose product divides the number of devices. A reduction is not
/// cut together with height or width: partial sums and halos would multiply.
static void enumerate(const Extents &extents, int64_t devices, size_t d,
                      Extents &degrees, std::vector<Extents> &found) {
  if (d == degrees.size()) {
    if (degrees[4] == 1 || degrees[2] * degrees[3] == 1)
      found.push_back(degrees);
    return;
  }
  for (int64_t degree = 1; degree <= std::min(devices, extents[d]); ++degree) {
    if (devices % degree)
      continue;
    degrees[d] = degree;
    enumerate(extents, devices / degree, d + 1, degrees, found);
  }
  degrees[d] = 1;
}

static std::vector<Tiling> tilingsOf(const LayerGraph::Layer &layer,
                                     const Machine &machine) {
  std::vector<Extents> all;
  Extents degrees = {1, 1, 1, 1, 1};
  enumerate(layer.extents, machine.devices(), 0, degrees, all);
  std::vector<Tiling> tilings;
  for (const Extents &each : all) {
    Tiling tiling;
    tiling.degrees = each;
    tiling.places.clear();
    for (int64_t i = 0; i < tiling.tiles(); ++i)
      tiling.places.push_back(machine.place(i));
    tilings.push_back(std::move(tiling));
  }
  return tilings;
}

namespace {
/// Layers that are cut alike: a leader and those that follow it.
struct Group {
  std::vector<int> layers;
};

/// What equal groups share.
struct Kind {
  int number = 0;
  std::vector<Tiling> tilings; ///< of the leader
  /// Of each tiling: the group's layers under it.
  std::vector<std::vector<PlacedLayer>> placed;
  std::vector<double> seconds; ///< of each tiling
};

class Search {
public:
  explicit Search(const Problem &problem)
      : problem(problem),
        pricer(problem.graph, problem.machine, problem.costs) {}
  Plan run();

private:
  void findGroups();
  Tiling tilingOf(int layer, const Tiling &leader) const;
  void fill(const Group &group, Kind &kind);
  std::string signatureOf(const Group &group) const;
  MinSum sum();

  const Problem &problem;
  Pricer pricer;
  std::vector<Group> groups;
  std::vector<std::pair<int, int>>
      position;                           ///< of a layer: group, number in it
  std::vector<std::pair<int, int>> edges; ///< of the graph
  /// The layers' edges between two groups, each from the first to the second.
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> between;
  std::map<std::string, Kind> kinds;
  std::vector<const Kind *> kindOf; ///< of each group
};
} // namespace

void Search::findGroups() {
  const LayerGraph &graph = problem.graph;
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    int group = layer.leader < 0 ? static_cast<int>(groups.size())
                                 : position[layer.leader].first;
    if (layer.leader < 0)
      groups.emplace_back();
    position.push_back({group, groups[group].layers.size()});
    groups[group].layers.push_back(i);
  }
  edges = edgesOf(graph);
  for (auto [a, b] : edges)
    if (std::pair pair = std::minmax(position[a].first, position[b].first);
        pair.first != pair.second)
      between[pair].push_back(
          position[a].first == pair.first ? std::pair(a, b) : std::pair(b, a));
}

Tiling Search::tilingOf(int layer, const Tiling &leader) const {
  const LayerGraph::Layer &known = problem.graph.layers[layer];
  return known.leader < 0 ? leader : followerTiling(known, leader);
}

/// The layers, and what goes between them.
std::string Search::signatureOf(const Group &group) const {
  std::string text;
  for (int layer : group.layers)
    text += problem.graph.layers[layer].signature + "&";
  for (auto [a, b] : edges)
    if (position[a].first == position[b].first &&
        position[a].first == position[group.layers[0]].first)
      text += std::to_string(position[a].second) + "-" +
              std::to_string(position[b].second) + ":" +
              portsOf(problem.graph, a, b) + "&";
  return text;
}

void Search::fill(const Group &group, Kind &kind) {
  const auto &[graph, machine, costs] = problem;
  kind.tilings = tilingsOf(graph.layers[group.layers[0]], machine);
  for (const Tiling &tiling : kind.tilings) {
    std::vector<PlacedLayer> placed;
    double seconds = 0;
    for (int layer : group.layers) {
      placed.push_back(pricer.place(layer, tilingOf(layer, tiling)));
      seconds += pricer.layer(layer, placed.back()).total();
    }
    for (auto [a, b] : edges)
      if (position[a].first == position[group.layers[0]].first &&
          position[b].first == position[a].first)
        seconds += pricer
                       .edge(a, placed[position[a].second], b,
                             placed[position[b].second])
                       .total();
    kind.placed.push_back(std::move(placed));
    kind.seconds.push_back(seconds);
  }
}

/// The sum to be minimized: a variable per group.
MinSum Search::sum() {
  MinSum sum;
  for (const Kind *kind : kindOf) {
    sum.factors.push_back(
        {{static_cast<int>(sum.values.size())}, kind->seconds});
    sum.values.push_back(static_cast<int>(kind->tilings.size()));
  }
  // Equal groups with equal edges have one table.
  std::map<std::string, std::vector<double>> tables;
  for (const auto &[pair, all] : between) {
    auto [first, second] = pair;
    std::string signature = std::to_string(kindOf[first]->number) + "->" +
                            std::to_string(kindOf[second]->number);
    for (auto [a, b] : all)
      signature += " " + std::to_string(position[a].second) + "-" +
                   std::to_string(position[b].second) + ":" +
                   portsOf(problem.graph, a, b);
    std::vector<double> &table = tables[signature];
    if (table.empty())
      for (const auto &made : kindOf[first]->placed)
        for (const auto &read : kindOf[second]->placed) {
          double seconds = 0;
          for (auto [a, b] : all)
            seconds += pricer
                           .edge(a, made[position[a].second], b,
                                 read[position[b].second])
                           .total();
          table.push_back(seconds);
        }
    sum.factors.push_back({{first, second}, table});
  }
  return sum;
}

Plan Search::run() {
  const auto &[graph, machine, costs] = problem;
  findGroups();
  for (const Group &group : groups) {
    Kind &kind = kinds[signatureOf(group)];
    if (kind.tilings.empty()) {
      kind.number = static_cast<int>(kinds.size());
      fill(group, kind);
    }
    kindOf.push_back(&kind);
  }

  MinSumSolution solution = solve(sum());

  Plan plan = planFor(problem, "layerwise");
  plan.costs = costs.source();
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    int group = position[i].first;
    const Tiling &leader = kindOf[group]->tilings[solution.choice[group]];
    plan.layers.push_back({layer.name, tilingOf(i, leader)});
  }
  return plan;
}

Plan lwcc::plan::solveLayerwise(const Problem &problem) {
  return Search(problem).run();
}

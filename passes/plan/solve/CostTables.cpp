//===- CostTables.cpp - The layer-wise search as tables -------------------===//

#include "passes/plan/solve/CostTables.h"
#include "ir/json/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc;
using namespace lwcc::plan;
namespace json = llvm::json;

void CostTables::findGroups() {
  const LayerGraph &graph = problem.graph;
  groups = groupsOf(graph);
  position.resize(graph.layers.size());
  for (auto [g, group] : llvm::enumerate(groups))
    for (auto [i, layer] : llvm::enumerate(group))
      position[layer] = {static_cast<int>(g), static_cast<int>(i)};
  edges = edgesOf(graph);
  for (const Edge &edge : edges)
    between[std::minmax(position[edge.from].first, position[edge.to].first)]
        .push_back(&edge);
}

Tiling CostTables::tilingOf(int layer, const Tiling &leader) const {
  return tilingInGroup(problem.graph.layers[layer], leader);
}

/// As text: which layers of their groups the edge joins, through which tensors.
std::string CostTables::signatureOf(const Edge &edge) const {
  auto [groupA, a] = position[edge.from];
  auto [groupB, b] = position[edge.to];
  return (groupA <= groupB ? "&" : "&-") + std::to_string(a) + "-" +
         std::to_string(b) + ":" + edge.signature();
}

/// As text: the group's layers, the edges within it, and how it is to be cut.
std::string CostTables::signatureOf(const Group &group) const {
  std::string text;
  for (int layer : group)
    text += problem.graph.layers[layer].signature + "&";
  int number = position[group[0]].first;
  if (auto inside = between.find({number, number}); inside != between.end())
    for (const Edge *edge : inside->second)
      text += signatureOf(*edge);
  auto kept = problem.search.kept.find(group[0]);
  if (kept != problem.search.kept.end())
    for (int64_t degree : kept->second)
      text += "=" + std::to_string(degree);
  return text;
}

const CostTables::Cut &CostTables::cutOf(int layer, const Tiling &tiling) {
  const std::string &signature = problem.graph.layers[layer].signature;
  int kind = signatures.try_emplace(signature, signatures.size()).first->second;
  auto [known, isNew] = cuts.try_emplace({kind, tiling.degrees});
  Cut &cut = known->second;
  if (isNew) {
    cut.placed = pricer.place(layer, tiling);
    cut.seconds = pricer.layer(layer, cut.placed).total();
    // Edges look only at what is made and read: the rest is not kept.
    cut.placed.work = {};
    cut.placed.params = {};
  }
  return cut;
}

void CostTables::fill(const Group &group, Kind &kind) {
  kind.tilings = waysToCut(problem, group[0]);
  int number = position[group[0]].first;
  auto inside = between.find({number, number});
  for (const Tiling &tiling : kind.tilings) {
    std::vector<const PlacedLayer *> placed;
    double seconds = 0;
    for (int layer : group) {
      const Cut &cut = cutOf(layer, tilingOf(layer, tiling));
      placed.push_back(&cut.placed);
      seconds += cut.seconds;
    }
    if (inside != between.end())
      for (const Edge *edge : inside->second)
        seconds += pricer
                       .edge(*edge, *placed[position[edge->from].second],
                             *placed[position[edge->to].second])
                       .total();
    kind.placed.push_back(std::move(placed));
    kind.seconds.push_back(seconds);
  }
}

const CostTables::Exchanges &CostTables::exchangesOf(const Sets &made,
                                                     const Sets &read) {
  auto numbersOf = [](const Sets &sets) {
    std::vector<int> numbers;
    for (const RegionSet *set : sets)
      numbers.push_back(set->number());
    return numbers;
  };
  auto [known, isNew] =
      exchanges.try_emplace({numbersOf(made), numbersOf(read)});
  Exchanges &all = known->second;
  if (!isNew)
    return all;
  all.reserve(made.size() * read.size());
  for (const RegionSet *maker : made)
    for (const RegionSet *reader : read)
      all.push_back(&pricer.exchange(*maker, *reader));
  return all;
}

/// What all edges between two groups cost, [tiling of the first][of the
/// second].
std::vector<double> CostTables::tableOf(int first, int second,
                                        llvm::ArrayRef<const Edge *> all) {
  const size_t rows = kindOf[first]->placed.size(),
               columns = kindOf[second]->placed.size();
  std::vector<double> table(rows * columns, 0);
  auto setsOf = [&](int layer, auto PlacedLayer::*list, size_t number) {
    auto [group, place] = position[layer];
    Sets sets;
    for (const auto &placed : kindOf[group]->placed)
      sets.push_back((placed[place]->*list)[number]);
    return sets;
  };
  for (const Edge *edge : all)
    for (const Edge::Port &port : edge->ports) {
      const int maker = port.forward ? edge->from : edge->to,
                reader = port.forward ? edge->to : edge->from;
      const Exchanges &exchanged =
          exchangesOf(setsOf(maker, &PlacedLayer::made, port.made),
                      setsOf(reader, &PlacedLayer::read, port.read));
      const bool byRows = position[maker].first == first;
      for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column)
          table[row * columns + column] += pricer.seconds(
              port.tensor, *exchanged[byRows ? row * columns + column
                                             : column * rows + row]);
    }
  return table;
}

/// Adds the factors of two groups. Equal groups with equal edges share a table.
void CostTables::addEdges() {
  std::map<std::string, std::vector<double>> known;
  for (const auto &[pair, all] : between) {
    auto [first, second] = pair;
    if (first == second)
      continue; // counted with the group
    std::string signature = std::to_string(kindOf[first]->number) + "->" +
                            std::to_string(kindOf[second]->number);
    for (const Edge *edge : all)
      signature += signatureOf(*edge);
    std::vector<double> &table = known[signature];
    if (table.empty())
      table = tableOf(first, second, all);
    tables.factors.push_back({{first, second}, table});
  }
  exchanges.clear();
}

CostTables::CostTables(const Problem &given)
    : problem(given), pricer(given.graph, given.machine, given.costs) {
  findGroups();
  for (const Group &group : groups) {
    Kind &kind = kinds[signatureOf(group)];
    if (kind.tilings.empty()) {
      kind.number = static_cast<int>(kinds.size());
      fill(group, kind);
    }
    kindOf.push_back(&kind);
    tables.factors.push_back(
        {{static_cast<int>(tables.values.size())}, kind.seconds});
    tables.values.push_back(static_cast<int>(kind.tilings.size()));
  }
  addEdges();
}

Plan CostTables::planOf(const std::vector<int> &choice,
                        llvm::StringRef strategy) const {
  Plan plan = planFor(problem, strategy);
  plan.costs = problem.costs.source();
  for (auto [i, layer] : llvm::enumerate(problem.graph.layers)) {
    int group = position[i].first;
    const Tiling &leader = kindOf[group]->tilings[choice[group]];
    plan.layers.push_back({layer.name, tilingOf(i, leader)});
  }
  return plan;
}

std::string CostTables::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream out(os, 1);
  out.object([&] {
    out.attribute("version", 1);
    out.attribute("model", jsonText(problem.graph.model));
    out.attribute("hash", problem.graph.hash);
    out.attribute("batch", problem.graph.batch);
    out.attribute("machine", jsonText(problem.machine.name));
    out.attribute("devices", problem.machine.devices());
    out.attribute("costs", jsonText(problem.costs.source()));
    out.attributeArray("groups", [&] {
      for (auto [group, kind] : llvm::zip_equal(groups, kindOf))
        out.object([&, group = group, kind = kind] {
          out.attributeArray("layers", [&] {
            for (int layer : group)
              out.value(jsonText(problem.graph.layers[layer].name));
          });
          out.attributeArray("tilings", [&] {
            for (const Tiling &tiling : kind->tilings)
              out.value(json::Array(tiling.degrees));
          });
          out.attribute("seconds", json::Array(kind->seconds));
        });
    });
    out.attributeArray("edges", [&] {
      for (const Factor &factor : tables.factors)
        if (factor.variables.size() == 2)
          out.object([&] {
            out.attribute("from", factor.variables[0]);
            out.attribute("to", factor.variables[1]);
            out.attribute("seconds", json::Array(factor.costs));
          });
    });
  });
  os << "\n";
  return text;
}

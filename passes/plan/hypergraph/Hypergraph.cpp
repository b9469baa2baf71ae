//===- Hypergraph.cpp - Parts between which little is sent ----------------===//

#include "passes/plan/hypergraph/Hypergraph.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace lwcc;
using namespace lwcc::plan;

Hypergraph Hypergraph::reduced() const {
  Hypergraph result{weights, sizes, {}};
  std::map<std::vector<int>, size_t> known;
  for (const Net &net : nets) {
    if (net.pins.size() < 2 || net.cost == 0)
      continue;
    std::vector<int> pins = net.pins;
    llvm::sort(pins);
    auto [place, isNew] = known.try_emplace(pins, result.nets.size());
    if (isNew)
      result.nets.push_back({0, std::move(pins)});
    result.nets[place->second].cost += net.cost;
  }
  return result;
}

int64_t lwcc::plan::km1(const Hypergraph &graph, const Partition &partition) {
  int64_t sum = 0;
  std::vector<int> parts;
  for (const Hypergraph::Net &net : graph.nets) {
    parts.clear();
    for (int pin : net.pins)
      parts.push_back(partition[pin]);
    llvm::sort(parts);
    auto different = std::unique(parts.begin(), parts.end()) - parts.begin();
    sum += net.cost * std::max<int64_t>(0, different - 1);
  }
  return sum;
}

int64_t lwcc::plan::overload(const PartitionProblem &problem,
                             const Partition &partition) {
  std::vector<int64_t> weights(problem.parts, 0), sizes(problem.parts, 0);
  for (auto [v, part] : llvm::enumerate(partition)) {
    weights[part] += problem.graph.weights[v];
    sizes[part] += problem.graph.sizes[v];
  }
  int64_t sum = 0;
  for (int part = 0; part < problem.parts; ++part)
    sum += std::max<int64_t>(0, weights[part] - problem.mostWeight) +
           std::max<int64_t>(0, sizes[part] - problem.mostSize);
  return sum;
}

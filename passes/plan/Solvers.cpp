//===- Solvers.cpp - The table of planning strategies ---------------------===//

#include "passes/plan/Solvers.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc::plan;

/// Everything on one lane of the first GPU, however many there are.
static Plan solveSingle(const LayerGraph &graph, const Machine &) {
  Plan plan{graph.model, graph.hash, graph.batch, "single", {}};
  for (const LayerGraph::Layer &layer : graph.layers)
    plan.layers.push_back({layer.name, Tiling{}});
  return plan;
}

/// Every layer's samples in as many parts as there are GPUs.
static Plan solveData(const LayerGraph &graph, const Machine &machine) {
  Plan plan{graph.model, graph.hash, graph.batch, "data", {}};
  for (const LayerGraph::Layer &layer : graph.layers) {
    Tiling tiling;
    tiling.n = std::min(machine.nodes * machine.gpus,
                        layer.shape.empty() ? 1 : layer.shape[0]);
    tiling.places.clear();
    for (int64_t i = 0; i < tiling.n; ++i)
      tiling.places.push_back({i / machine.gpus, i % machine.gpus, 0});
    plan.layers.push_back({layer.name, tiling});
  }
  return plan;
}

static const Solver table[] = {
    {"single", "every layer whole, on the first GPU", solveSingle},
    {"data", "every layer's samples spread over all GPUs", solveData},
};

llvm::ArrayRef<Solver> lwcc::plan::solvers() { return table; }

const Solver *lwcc::plan::findSolver(llvm::StringRef name) {
  const Solver *row =
      llvm::find_if(table, [&](const Solver &s) { return s.name == name; });
  return row == std::end(table) ? nullptr : row;
}

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

static const Solver table[] = {
    {"single", "every layer whole, on the first GPU", solveSingle},
};

llvm::ArrayRef<Solver> lwcc::plan::solvers() { return table; }

const Solver *lwcc::plan::findSolver(llvm::StringRef name) {
  const Solver *row =
      llvm::find_if(table, [&](const Solver &s) { return s.name == name; });
  return row == std::end(table) ? nullptr : row;
}

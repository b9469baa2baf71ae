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

/// A tiling of as many parts along one dimension as there are GPUs, or as it
/// has elements if those are fewer.
static Tiling spread(int64_t Tiling::*degree, int64_t extent,
                     const Machine &machine) {
  Tiling tiling;
  tiling.*degree = std::min(machine.nodes * machine.gpus, extent);
  tiling.places.clear();
  for (int64_t i = 0; i < tiling.tiles(); ++i)
    tiling.places.push_back({i / machine.gpus, i % machine.gpus, 0});
  return tiling;
}

/// Every layer's samples over all GPUs.
static Plan solveData(const LayerGraph &graph, const Machine &machine) {
  Plan plan{graph.model, graph.hash, graph.batch, "data", {}};
  for (const LayerGraph::Layer &layer : graph.layers)
    plan.layers.push_back(
        {layer.name,
         spread(&Tiling::n, layer.shape.empty() ? 1 : layer.shape[0],
                machine)});
  return plan;
}

/// Krizhevsky 2014, "One weird trick for parallelizing convolutional neural
/// networks", scheme (a): layers of images by samples, layers of features (the
/// fully connected ones, which hold most parameters) by channels.
static Plan solveOneWeirdTrick(const LayerGraph &graph,
                               const Machine &machine) {
  Plan plan{graph.model, graph.hash, graph.batch, "owt", {}};
  for (const LayerGraph::Layer &layer : graph.layers) {
    const std::vector<int64_t> &shape = layer.shape;
    plan.layers.push_back(
        {layer.name, shape.size() == 4   ? spread(&Tiling::n, shape[0], machine)
                     : shape.size() == 2 ? spread(&Tiling::c, shape[1], machine)
                                         : Tiling{}});
  }
  return plan;
}

static const Solver table[] = {
    {"single", "every layer whole, on the first GPU", solveSingle},
    {"data", "every layer's samples spread over all GPUs", solveData},
    {"owt", "samples of images, channels of features", solveOneWeirdTrick},
};

llvm::ArrayRef<Solver> lwcc::plan::solvers() { return table; }

const Solver *lwcc::plan::findSolver(llvm::StringRef name) {
  const Solver *row =
      llvm::find_if(table, [&](const Solver &s) { return s.name == name; });
  return row == std::end(table) ? nullptr : row;
}

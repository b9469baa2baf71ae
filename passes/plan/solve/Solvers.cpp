//===- Solvers.cpp - The table of planning strategies ---------------------===//

#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

Plan lwcc::plan::planFor(const Problem &problem, llvm::StringRef strategy) {
  Plan plan;
  plan.model = problem.graph.model;
  plan.hash = problem.graph.hash;
  plan.batch = problem.graph.batch;
  plan.machine = problem.machine;
  plan.strategy = strategy.str();
  return plan;
}

Plan lwcc::plan::planOf(const Problem &problem, const Tilings &tilings,
                        llvm::StringRef strategy) {
  Plan plan = planFor(problem, strategy);
  plan.costs = problem.costs.source();
  for (auto [layer, tiling] : llvm::zip_equal(problem.graph.layers, tilings))
    plan.layers.push_back({layer.name, tiling});
  return plan;
}

/// Everything on one lane of the first GPU, however many there are.
static Plan solveSingle(const Problem &problem) {
  Plan plan = planFor(problem, "single");
  for (const LayerGraph::Layer &layer : problem.graph.layers)
    plan.layers.push_back({layer.name, Tiling{}});
  return plan;
}

static constexpr size_t samples = 0, channels = 1;

/// Every layer's samples over all GPUs.
static Plan solveData(const Problem &problem) {
  Plan plan = planFor(problem, "data");
  for (const LayerGraph::Layer &layer : problem.graph.layers)
    plan.layers.push_back(
        {layer.name, spread(samples, layer.extents, problem.machine)});
  return plan;
}

/// Every layer's channels over all GPUs. What has none runs whole, on the GPU
/// that has been given least so far.
static Plan solveModel(const Problem &problem) {
  const Machine &machine = problem.machine;
  Plan plan = planFor(problem, "model");
  std::vector<double> load(machine.devices(), 0);
  for (const LayerGraph::Layer &layer : problem.graph.layers) {
    Tiling tiling = spread(channels, layer.extents, machine);
    // Fewer tiles than GPUs go to those with the smallest loads.
    std::vector<int64_t> order(load.size());
    std::iota(order.begin(), order.end(), 0);
    if (tiling.tiles() < machine.devices())
      llvm::stable_sort(
          order, [&](int64_t a, int64_t b) { return load[a] < load[b]; });
    double work = 1;
    for (int64_t extent : layer.extents)
      work *= static_cast<double>(extent);
    for (auto [i, place] : llvm::enumerate(tiling.places)) {
      place = machine.place(order[i]);
      load[order[i]] += work / static_cast<double>(tiling.tiles());
    }
    plan.layers.push_back({layer.name, tiling});
  }
  return plan;
}

/// Krizhevsky 2014, "One weird trick for parallelizing convolutional neural
/// networks", scheme (a): layers of images by samples, fully connected layers,
/// which hold most parameters, by channels. What stands between features goes
/// with its producer, as far as it can be cut like that.
static Plan solveOneWeirdTrick(const Problem &problem) {
  Plan plan = planFor(problem, "owt");
  for (const LayerGraph::Layer &layer : problem.graph.layers) {
    Tiling tiling = spread(samples, layer.extents, problem.machine);
    if (layer.rank != 4 && layer.hasParameters)
      tiling = spread(channels, layer.extents, problem.machine);
    else if (layer.rank != 4 && layer.producer >= 0) {
      const Tiling &before = plan.layers[layer.producer].tiling;
      bool fits = true;
      for (size_t d = 0; d < dimensions.size(); ++d)
        fits &= before.degrees[d] <= layer.extents[d];
      if (fits)
        tiling = before;
    }
    plan.layers.push_back({layer.name, tiling});
  }
  return plan;
}

static const Solver table[] = {
    {"single", "every layer whole, on the first GPU", solveSingle},
    {"data", "every layer's samples spread over all GPUs", solveData},
    {"model", "every layer's channels spread over all GPUs", solveModel},
    {"owt", "samples of images, channels of features", solveOneWeirdTrick},
    {"layerwise", "per layer, the least sum of all costs", solveLayerwise,
     /*searches=*/true},
    {"dfs", "the same by depth-first search, for small models", solveDepthFirst,
     /*searches=*/true},
    {"mcmc", "by chance, the quickest simulated step", solveMcmc,
     /*searches=*/true, /*heedsMemory=*/true},
    {"pipeline", "parts of the model on GPUs of their own, in micro-batches",
     solvePipeline, /*searches=*/true},
    {"auto", "the best of all, as predicted", solveAuto,
     /*searches=*/true, /*heedsMemory=*/true},
};

llvm::ArrayRef<Solver> lwcc::plan::solvers() { return table; }

const Solver *lwcc::plan::findSolver(llvm::StringRef name) {
  const Solver *row =
      llvm::find_if(table, [&](const Solver &s) { return s.name == name; });
  return row == std::end(table) ? nullptr : row;
}

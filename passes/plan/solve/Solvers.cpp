//===- Solvers.cpp - The table of planning strategies ---------------------===//

#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

/// As many as are judged where they are small.
static constexpr size_t mostFinalists = 8;

size_t Problem::finalists() const {
  // A program takes about a millisecond per layer and device.
  constexpr int64_t mostTiles = 12000, mostOfOne = 3000;
  const auto tiles =
      static_cast<int64_t>(graph.layers.size()) * machine.devices();
  return programStep && tiles <= mostOfOne
             ? std::min<size_t>(mostTiles / tiles, mostFinalists)
             : 0;
}

bool Problem::timesPrograms() const { return finalists() == mostFinalists; }

bool Problem::canTime(const Plan &plan) const {
  constexpr int64_t mostTiles = 2500;
  int64_t tiles = 0;
  for (const LayerPlan &layer : plan.layers)
    tiles += layer.tiling.tiles();
  return timesPrograms() && tiles <= mostTiles;
}

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

Plan lwcc::plan::withKept(const Problem &problem, Plan plan) {
  const LayerGraph &graph = problem.graph;
  for (const LayerGroup &group : groupsOf(graph))
    if (problem.search.kept.contains(group.front()))
      for (const Tiling &leader : waysToCut(problem, group.front()))
        for (int layer : group)
          plan.layers[layer].tiling =
              tilingInGroup(graph.layers[layer], leader);
  return plan;
}

/// Everything on one lane of the first GPU, however many there are.
static Plan solveSingle(const Problem &problem) {
  Plan plan = planFor(problem, "single");
  for (const LayerGraph::Layer &layer : problem.graph.layers)
    plan.layers.push_back({layer.name, Tiling{}});
  return withKept(problem, std::move(plan));
}

/// Every layer's samples over all GPUs.
static Plan solveData(const Problem &problem) {
  Plan plan = planFor(problem, "data");
  for (const LayerGraph::Layer &layer : problem.graph.layers)
    plan.layers.push_back(
        {layer.name, spread(alongSamples, layer.extents, problem.machine)});
  return withKept(problem, std::move(plan));
}

/// Every layer's channels over all GPUs. What has none runs whole, on the GPU
/// that has been given least so far.
static Plan solveModel(const Problem &problem) {
  const Machine &machine = problem.machine;
  Plan plan = planFor(problem, "model");
  std::vector<double> load(machine.devices(), 0);
  for (const LayerGraph::Layer &layer : problem.graph.layers) {
    Tiling tiling = spread(alongChannels, layer.extents, machine);
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
  return withKept(problem, std::move(plan));
}

static const Solver table[] = {
    {"single", "every layer whole, on the first GPU", solveSingle},
    {"data", "every layer's samples spread over all GPUs", solveData},
    {"model", "every layer's channels spread over all GPUs", solveModel},
    {"owt", "samples of images, channels of features", solveOneWeirdTrick},
    {"owt-b", "the same, features in passes of one GPU's samples each",
     solveOneWeirdTrickByDevice, false, false, /*inMicroBatches=*/true},
    {"owt-c", "the same, features in passes of some samples of each GPU",
     solveOneWeirdTrickBySlice, false, false, /*inMicroBatches=*/true},
    {"layerwise", "per layer, the least sum of all costs", solveLayerwise,
     /*searches=*/true},
    {"dfs", "the same by depth-first search, for small models", solveDepthFirst,
     /*searches=*/true},
    {"descent", "layer after layer, the quickest simulated step", solveDescent,
     /*searches=*/true, /*heedsMemory=*/true},
    {"mcmc", "by chance, the quickest simulated step", solveMcmc,
     /*searches=*/true, /*heedsMemory=*/true},
    {"pipeline", "parts of the model on GPUs of their own, in micro-batches",
     solvePipeline, /*searches=*/true, false, /*inMicroBatches=*/true},
    {"hypergraph", "parts of layers, the least sent between GPUs",
     solveHypergraph, /*searches=*/true, false, /*inMicroBatches=*/true},
    {"auto", "the best of all, as predicted", solveAuto,
     /*searches=*/true, /*heedsMemory=*/true},
};

llvm::ArrayRef<Solver> lwcc::plan::solvers() { return table; }

const Solver *lwcc::plan::findSolver(llvm::StringRef name) {
  const Solver *row =
      llvm::find_if(table, [&](const Solver &s) { return s.name == name; });
  return row == std::end(table) ? nullptr : row;
}

std::string lwcc::plan::outOfTime(const Problem &problem) {
  return llvm::formatv("the search was ended after its {0:f1} seconds, so that "
                       "another run may find another plan; --search-seconds "
                       "gives it more",
                       problem.search.seconds);
}

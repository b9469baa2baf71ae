//===- LayeredGraphs.h - Graphs of layers for tests -------------*- C++ -*-===//
//
// Graphs of layers that are made by hand or at random, and machines on which
// their times can be told by counting.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_LAYEREDGRAPHS_H
#define LWCC_TEST_UNIT_PASSES_LAYEREDGRAPHS_H

#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/Solvers.h"

#include <random>

namespace lwcc::plan::test {

using tiling::Box;

/// A convolution, what follows it, a product and a loss.
inline LayerGraph smallNet() {
  return {"m.onnx",
          "cafe",
          8,
          {{"conv1", {8, 6, 4, 4, 3}, 4, true},
           {"relu", {8, 6, 4, 4, 1}, 4, false, 0},
           {"fc", {8, 10, 1, 1, 96}, 2, true, 1},
           {"loss", {8, 1, 1, 1, 1}, 2, false, 2}}};
}

inline Plan planBy(llvm::StringRef strategy, const LayerGraph &graph,
                   const Machine &machine) {
  return findSolver(strategy)->solve(
      {graph, machine, CostModel(machine, "fp32")});
}

inline constexpr int64_t manySamples = 24, channels = 12;

/// Layers over [samples, channels], each of which reads what some others make.
/// Forward a tile moves `bytes` per sample and channel, backward twice as many;
/// all but the first have a weight per channel pair.
inline LayerGraph graphOf(const std::vector<std::vector<int>> &inputs,
                          double bytes, bool weights,
                          int64_t samples = manySamples) {
  LayerGraph graph;
  int count = static_cast<int>(inputs.size());
  for (int i = 0; i < count; ++i) {
    LayerGraph::Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.signature = layer.name;
    layer.extents = {samples, channels, 1, 1, 1};
    layer.hasParameters = weights && i > 0;
    if (layer.hasParameters)
      layer.params.push_back({4, 4, "sgd"});
    layer.producer = i > 0 ? inputs[i][0] : -1;
    graph.layers.push_back(layer);
  }
  auto tensor = [&](int producer, Phase made, int consumer, Phase needed) {
    int number = static_cast<int>(graph.tensors.size());
    graph.tensors.push_back({"t", producer, made, {consumer}, {needed}});
    graph.tensors.back().shape = {samples, channels};
    graph.layers[producer].made.push_back(number);
    graph.layers[consumer].read.push_back(number);
  };
  for (int i = 1; i < count; ++i)
    for (int from : inputs[i]) {
      tensor(from, Phase::forward, i, Phase::forward);
      tensor(i, Phase::backward, from, Phase::backward);
    }
  std::vector<LayerGraph::Layer> layers = graph.layers;
  std::vector<Tensor> tensors = graph.tensors;
  graph.tiles = [=](int layer, const Tiling &tiling) {
    LayerTiles tiles;
    const LayerGraph::Layer &known = layers[layer];
    int64_t count = tiling.tiles();
    auto regions = [&](size_t n) {
      return std::vector<LayerTiles::Regions>(n, LayerTiles::Regions(count));
    };
    tiles.work.resize(count);
    tiles.made = regions(known.made.size());
    tiles.read = regions(known.read.size());
    tiles.params = regions(known.params.size());
    for (int64_t t = 0; t < count; ++t) {
      Box part = {
          tiling::partOf(samples, tiling.degrees[0], t / tiling.degrees[1]),
          tiling::partOf(channels, tiling.degrees[1], t % tiling.degrees[1])};
      double size = tiling::volume(part) * bytes;
      tiles.work[t] = {{Phase::forward, 0, size}, {Phase::backward, 0, size}};
      if (known.hasParameters)
        tiles.work[t].push_back({Phase::weight, 0, size});
      Box rows = {part[0], {0, channels}};
      for (size_t i = 0; i < known.made.size(); ++i)
        // A gradient of the input has all channels, in terms.
        tiles.made[i][t] =
            tensors[known.made[i]].made == Phase::forward ? part : rows;
      for (size_t i = 0; i < known.read.size(); ++i)
        tiles.read[i][t] =
            tensors[known.read[i]].made == Phase::forward ? rows : part;
      for (LayerTiles::Regions &params : tiles.params)
        params[t] = Box{part[1], {0, channels}};
    }
    return tiles;
  };
  return graph;
}

/// Kernels move 10 GB/s without a launch time, links 1 GB/s after 1 us.
inline Machine machineOf(int64_t gpus, int64_t nodes = 1) {
  Machine machine;
  machine.nodes = nodes;
  machine.gpus = gpus;
  machine.device = {1e12, 1e12, 10e9, int64_t(1) << 30, 0};
  machine.link = {1e9, 1e-6};
  machine.network = {5e8, 2e-6};
  return machine;
}

inline Tiling cut(const Machine &machine, int64_t n, int64_t c,
                  int64_t first = 0) {
  Tiling tiling;
  tiling.degrees = {n, c, 1, 1, 1};
  tiling.places.clear();
  for (int64_t i = 0; i < n * c; ++i)
    tiling.places.push_back(machine.place(first + i));
  return tiling;
}

inline constexpr Ticks microsecond = 1000000;
/// That a layer's forward or backward pass takes on one device.
inline constexpr double perElement = 1e10 * 1e-5 / (manySamples * channels);

/// Whole numbers from 0 to below n.
class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}
  int64_t operator()(int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  }

private:
  std::mt19937 random;
};

/// A chain with some branches.
inline LayerGraph randomGraph(Draw &below, int64_t samples = manySamples) {
  int layers = 3 + static_cast<int>(below(12));
  std::vector<std::vector<int>> inputs(1);
  for (int i = 1; i < layers; ++i) {
    inputs.push_back({i - 1});
    if (i > 1 && below(3) == 0)
      inputs[i].push_back(static_cast<int>(below(i - 1)));
  }
  return graphOf(inputs, perElement, below(2), samples);
}

} // namespace lwcc::plan::test

#endif // LWCC_TEST_UNIT_PASSES_LAYEREDGRAPHS_H

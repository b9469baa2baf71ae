//===- LayerGraph.h - A model as planning sees it ---------------*- C++ -*-===//
//
// Layers in the model's order, the tensors that go between them, and for every
// way to cut a layer what each of its tiles computes, reads and makes. Built
// from the IR by BuildGraph.h, or by a test.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H
#define LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H

#include "passes/plan/model/Plan.h"
#include "passes/shard/Box.h"

#include <functional>
#include <optional>

namespace lwcc::plan {

/// When in a step something runs: forward, or in the backward pass for the
/// gradients of tensors or, after these, for those of parameters.
enum class Stage { forward, backward, weightGradient };

/// One kernel call on one tile. A product of m rows, n columns and k terms, if
/// `flops` is not 0; else something that only moves `bytes`.
struct Work {
  Stage stage = Stage::forward;
  double flops = 0;
  double bytes = 0; ///< read and written
  double m = 0, n = 0, k = 0;
  std::string key; ///< what a profile knows it by (Call.h), where asked for
  /// What a profile's times are proportional to.
  double amount() const { return flops > 0 ? flops : bytes; }
};

/// A tensor that ops of some layer make and ops of layers read. Not parameters.
struct Tensor {
  std::string name;
  int producer = -1; ///< a layer
  Stage made = Stage::forward;
  std::vector<int> consumers; ///< layers, perhaps the producer, each once
  std::vector<Stage> needed;  ///< by each of them, first
  int64_t elementBytes = 4;
};

/// The tiles of a layer. Regions are per tile, row-major like its places;
/// nullopt where a tile has nothing to do with it.
struct LayerTiles {
  using Regions = std::vector<std::optional<shard::Box>>;
  std::vector<std::vector<Work>> work;
  std::vector<Regions> made;   ///< of each tensor in Layer::made
  std::vector<Regions> read;   ///< of each tensor in Layer::read
  std::vector<Regions> params; ///< of each trained one: what a tile reads of it
};

struct LayerGraph {
  struct Layer {
    std::string name;
    /// How far it can be cut along each dimension, 1 where it cannot.
    Extents extents = {1, 1, 1, 1, 1};
    int rank = 0; ///< of its result: 4 images, 2 features
    bool hasParameters = false;
    int producer = -1; ///< the earlier layer whose result it reads, if any
    /// Of a layer that only goes over what another makes (it is elementwise,
    /// normalizes by channel, or only views): the earlier one that it is cut
    /// like, else -1. Searches move both together; a plan may part them.
    int leader = -1;

    std::vector<int> made, read; ///< tensors
    /// What its ops are, with their shapes: layers that are equal in this have
    /// the same tiles.
    std::string signature;
  };
  std::string model, hash;
  int64_t batch = 0;
  std::vector<Layer> layers;
  std::vector<Tensor> tensors;
  /// Nodes of the model that are no layers: they are computed within others, or
  /// need not be.
  std::vector<std::string> absorbed;
  /// The tiles of a layer that is cut like this. Absent in graphs that only
  /// strategies without costs look at.
  std::function<LayerTiles(int layer, const Tiling &tiling)> tiles;
};

/// How each layer of a graph is cut and placed, by its number.
using Tilings = std::vector<Tiling>;
/// Of a plan that covers the graph (Plan.h, check).
Tilings tilingsOf(const LayerGraph &graph, const Plan &plan);

/// The tiling of a layer that follows one with this tiling: the same, where it
/// can be; what the leader sums over is cut along channels or samples.
Tiling followerTiling(const LayerGraph::Layer &follower, const Tiling &leader);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H

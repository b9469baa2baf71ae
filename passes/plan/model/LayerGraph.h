//===- LayerGraph.h - A model as planning sees it ---------------*- C++ -*-===//
//
// Defines the nouns of a model as planning sees it:
//
//   tensor  a value that one layer makes and layers read; parameters are none
//   parameter  what a layer reads and an optimizer updates
//   region  a box of a tensor's elements (ir/place/Box.h)
//   work    one kernel call on one tile: floating-point operations and bytes
//   leader  the layer that another one is cut like; both form a group
//
// A graph holds the layers in the model's order, the tensors between them, and
// a function that says for any tiling of a layer what its tiles compute, read
// and make. BuildGraph.h makes it from the IR; tests make their own.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H
#define LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H

#include "ir/place/Box.h"
#include "passes/plan/model/Plan.h"

#include <functional>
#include <optional>

namespace lwcc::plan {

/// One kernel call on one tile. If `flops` is not 0 it is a product of m rows,
/// n columns and k terms; else it only moves bytes.
struct Work {
  Phase phase = Phase::forward; ///< no kernel call has Phase::update
  double flops = 0;
  double bytes = 0; ///< read and written
  double m = 0, n = 0, k = 0;
  /// By which a profile is asked (Call.h). Empty unless GraphOptions::keys.
  std::string key;
  /// What times are proportional to when a profile's entry is scaled.
  double amount() const { return flops > 0 ? flops : bytes; }
};

struct Tensor {
  std::string name;
  int producer = -1; ///< a layer
  Phase made = Phase::forward;
  std::vector<int> consumers; ///< layers, each once; may include the producer
  std::vector<Phase> needed;  ///< in which phase each consumer first needs it
  int64_t elementBytes = 4;
  tiling::Shape shape = {}; ///< empty: of a scalar, or unknown
};

struct Parameter {
  int64_t elementBytes = 4; ///< also of its gradient
  int64_t stateBytes = 0;   ///< of the optimizer's state, for each element
  std::string update;       ///< the runtime function
};

/// The tiles of a layer under one tiling, row-major like its places. A region
/// is nullopt where a tile does not touch the tensor.
struct LayerTiles {
  using Regions = std::vector<std::optional<tiling::Box>>;
  std::vector<std::vector<Work>> work; ///< of each tile
  std::vector<Regions> made;           ///< of each tensor in Layer::made
  std::vector<Regions> read;           ///< of each tensor in Layer::read
  std::vector<Regions> params;         ///< of each parameter in Layer::params
};

struct LayerGraph {
  struct Layer {
    std::string name;
    /// How far it can be cut along each dimension, 1 where it cannot.
    Extents extents = {1, 1, 1, 1, 1};
    int rank = 0; ///< of its result: 4 images, 2 features
    bool hasParameters = false;
    /// The earlier layer whose result it reads, if any; of a layer that reads
    /// gradients alone, the one that they come from.
    int producer = -1;
    /// The earlier layer that this one is cut like, if it only goes over what
    /// that one makes: it is elementwise, a view, or normalizes by channel.
    /// Else -1. Searches cut both alike; a plan file may part them.
    int leader = -1;

    std::vector<int> made, read; ///< tensors
    std::vector<Parameter> params;
    /// The layer's ops with their shapes, as text. Layers with equal signatures
    /// have equal tiles under equal tilings.
    std::string signature;
    /// Of how many groups of samples it has statistics (1: of the whole batch),
    /// each of which it needs at once; 0 if it normalizes no batch.
    int64_t sampleGroups = 0;
    /// It computes from parameters alone, once in a step: no dimension of it is
    /// the samples'.
    bool isOfParameters = false;
  };
  std::string model, hash;
  int64_t batch = 0;
  std::vector<Layer> layers;
  std::vector<Tensor> tensors;
  /// What layers do in a step, in the order of the model's ops: forward, and
  /// then back. Empty: every phase of every layer, the weights' after the
  /// backward pass of the same layer.
  std::vector<std::pair<int, Phase>> turns;
  /// Nodes of the model that are no layers, since they are computed within
  /// others or not at all. Plans may name them (dropAbsorbed).
  std::vector<std::string> absorbed;
  /// The tiles of a layer under a tiling. Null in graphs that only strategies
  /// without costs look at.
  std::function<LayerTiles(int layer, const Tiling &tiling)> tiles;
};

/// The regions of a tensor among those of the tensors in `list`, which is
/// Layer::made or Layer::read; null if it is none of them.
inline const LayerTiles::Regions *
regionsOf(int tensor, const std::vector<int> &list,
          const std::vector<LayerTiles::Regions> &regions) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] == tensor)
      return &regions[i];
  return nullptr;
}

/// The tiling of each layer of a graph, by its number.
using Tilings = std::vector<Tiling>;
/// The tilings of a plan that names every layer of the graph (Plan.h, check).
Tilings tilingsOf(const LayerGraph &graph, const Plan &plan);

/// The tiling of a layer whose leader has this tiling: the same as far as the
/// layer can be cut like that. A cut of the leader's reduction becomes one of
/// channels, or of samples.
Tiling followerTiling(const LayerGraph::Layer &follower, const Tiling &leader);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_LAYERGRAPH_H

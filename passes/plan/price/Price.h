//===- Price.h - What a plan costs by OptCNN's sum --------------*- C++ -*-===//
//
// Jia et al. 2018, Eq. 1: the sum over layers of the time to compute and to
// synchronize parameters, and over tensors of the time to move them from the
// layer that makes them to those that read them. No overlap, no concurrency:
// what an exact search minimizes. Differences from the paper: gradients go
// along edges of their own, contributions that are summed (halos, reductions)
// count where they are summed, and parameters are synchronized as the runtime
// does it (a reduce-scatter and an all-gather) instead of through a server.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_PRICE_H
#define LWCC_PASSES_PLAN_PRICE_PRICE_H

#include "passes/plan/price/CostModel.h"
#include "passes/plan/price/Exchanges.h"

namespace lwcc::plan {

struct Seconds {
  double compute = 0, transfer = 0, sync = 0; ///< seconds
  double bytes = 0;                           ///< that devices exchange
  double total() const { return compute + transfer + sync; }
  Seconds &operator+=(const Seconds &other);
};

/// A layer that is cut and placed in one way.
struct PlacedLayer {
  std::vector<int64_t> devices;        ///< of each tile
  std::vector<std::vector<Work>> work; ///< of each tile
  std::vector<RegionSet> made, read;   ///< of each tensor (LayerTiles)
  std::vector<LayerTiles::Regions> params;
};
/// The tensors that go between two different layers, either way.
struct Edge {
  struct Port {
    int tensor;
    bool forward;      ///< made by `from`
    size_t made, read; ///< which of the maker's, and of the reader's, it is
  };
  int from, to; ///< from < to
  std::vector<Port> ports;
  /// What the costs of an edge depend on besides the layers' signatures.
  std::string signature() const;
};

/// Each pair of layers once, in order.
std::vector<Edge> edgesOf(const LayerGraph &graph);

/// The terms of the sum for one graph on one machine.
class Pricer {
public:
  Pricer(const LayerGraph &graph, const Machine &machine,
         const CostModel &costs)
      : graph(graph), machine(machine), costs(costs), traffic(machine) {}

  PlacedLayer place(int layer, const Tiling &tiling);
  /// What a layer costs whatever its neighbours do.
  Seconds layer(int layer, const PlacedLayer &placed);
  /// What it takes to bring what one layer makes to the other, both ways.
  Seconds edge(const Edge &edge, const PlacedLayer &from,
               const PlacedLayer &to);

private:
  void exchange(int tensor, const RegionSet &made, const RegionSet &read,
                Seconds &result);

  const LayerGraph &graph;
  const Machine &machine;
  const CostModel &costs;
  AxisOverlaps overlaps;
  Traffic traffic; ///< scratch
  struct Exchanged {
    double seconds, bytes;
  };
  /// Of each set, by its number: by the number of the other set (60 bits) and
  /// an element's bytes. A table of an edge asks for one set again and again,
  /// which finds its map in the cache. And the last one: a tensor and its
  /// gradient mostly go the same way.
  std::vector<llvm::DenseMap<uint64_t, Exchanged>> exchanged;
  int lastFrom = -1;
  uint64_t lastKey = 0;
  Exchanged last = {};
};

/// Eq. 1, per layer; what is moved counts where it is read.
std::vector<Seconds> priceOf(const LayerGraph &graph, const Tilings &tilings,
                             const Machine &machine, const CostModel &costs);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_PRICE_H

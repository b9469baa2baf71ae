//===- Price.h - What a plan costs by OptCNN's sum --------------*- C++ -*-===//
//
// What a plan costs by the sum of Jia et al. 2018 (OptCNN), equation 1: over
// all layers the time to compute and to synchronize parameters, and over all
// tensors the time to move them from the layer that makes them to the layers
// that read them. Nothing overlaps in that sum. The exact search minimizes it
// (../solve/CostTables.h).
//
// Differences from the paper: gradients have edges of their own; partial
// results that are summed (halos, reductions) are counted where they are
// summed; parameters are synchronized as the runtime does it, by a
// reduce-scatter and an all-gather, instead of through a server.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_PRICE_H
#define LWCC_PASSES_PLAN_PRICE_PRICE_H

#include "passes/plan/price/CostModel.h"
#include "passes/plan/price/Exchanges.h"

#include <deque>
#include <memory>

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
  /// Of each tensor, as in LayerTiles. They are the pricer's; equal sets are
  /// one.
  std::vector<const RegionSet *> made, read;
  std::vector<LayerTiles::Regions> params;
};
/// Everything that goes between two layers, in either direction.
struct Edge {
  struct Port {
    int tensor;
    bool forward;      ///< made by `from`
    size_t made, read; ///< its index in the maker's `made`, the reader's `read`
  };
  int from, to; ///< from < to
  std::vector<Port> ports;
  /// As text, what the edge's costs depend on besides the layers' signatures.
  std::string signature() const;
};

/// All edges of a graph, each pair of layers once, in order.
std::vector<Edge> edgesOf(const LayerGraph &graph);

/// The terms of the sum for one graph on one machine.
class Pricer {
public:
  Pricer(const LayerGraph &graph, const Machine &machine,
         const CostModel &costs);

  PlacedLayer place(int layer, const Tiling &tiling);
  /// What a layer costs, whatever the tilings of other layers are.
  Seconds layer(int layer, const PlacedLayer &placed);
  /// What it costs to bring the tensors of an edge to their readers.
  Seconds edge(const Edge &edge, const PlacedLayer &from,
               const PlacedLayer &to);

  /// What goes between two sets of regions of a tensor, in the sets' units of
  /// volume (RegionSet).
  struct Exchanged {
    Traffic::Busiest busiest = {};
    double moved = 0; ///< in all
    double units = 1; ///< that the tensor has
  };
  const Exchanged &exchange(const RegionSet &made, const RegionSet &read);
  /// How long that takes.
  double seconds(int tensor, const Exchanged &exchanged) const {
    return traffic.seconds(exchanged.busiest,
                           tensorBytes[tensor] / exchanged.units);
  }

private:
  void addExchange(int tensor, const RegionSet &made, const RegionSet &read,
                   Seconds &result);
  void synchronize(const Parameter &parameter,
                   const LayerTiles::Regions &regions,
                   const std::vector<int64_t> &devices);

  const LayerGraph &graph;
  const Machine &machine;
  const CostModel &costs;
  /// Of each tensor; of one whose shape is unknown, those of an element.
  std::vector<double> tensorBytes;
  AxisOverlaps overlaps;
  std::vector<std::unique_ptr<RegionSet>> sets; ///< by number
  Traffic traffic;                              ///< scratch
  /// Answers that are known: for the number of one set of regions a map, keyed
  /// by the number of the other set. A table of costs asks for one set again
  /// and again, so that its map stays in the processor's cache.
  std::vector<llvm::DenseMap<int, const Exchanged *>> exchanged;
  std::deque<Exchanged> answers; ///< a deque: they stay in place
  /// What some devices send each other to keep copies equal, on one level of
  /// links or on two, where each owns a byte.
  std::map<std::pair<std::set<int64_t>, int>, Traffic> synchronized;
};

/// The terms of equation 1, per layer. A transfer counts for the later layer of
/// its edge.
std::vector<Seconds> priceOf(const LayerGraph &graph, const Tilings &tilings,
                             const Machine &machine, const CostModel &costs);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_PRICE_H

//===- StepOrder.h - In which order a step does its work --------*- C++ -*-===//
//
// The order that the simulator walks in, which no plan changes: that of the
// model's ops (LayerGraph::turns). Nouns:
//
//   position  one phase of one layer, as a place in that order
//   port      a tensor on its way from the layer that makes it to one that
//             reads it; it leaves from one position and is needed at another
//   row       the state between two positions: row i stands before position i
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_STEPORDER_H
#define LWCC_PASSES_PLAN_PRICE_STEPORDER_H

#include "passes/plan/price/Timing.h"

#include "llvm/ADT/BitVector.h"

namespace lwcc::plan {

struct StepOrder {
  struct Position {
    int layer;
    Phase phase;
    std::vector<int> fetched;   ///< ports before the layer's kernels
    std::vector<int> regrouped; ///< ports among the layer's own results
    /// Whether nothing but updates waits for the layer's kernels.
    bool mayWait = false;
  };
  struct Port {
    int tensor, maker, reader; ///< the layers
    size_t made, read;         ///< which of TimedLayer's sets
    int from, to;              ///< positions
    /// Ports of the same tensor that are needed no later: what one of them has
    /// brought need not be brought again.
    std::vector<int> earlier;
  };
  /// A bit for each port.
  using PortSet = std::vector<uint64_t>;

  /// Leaves out stages in which a layer does nothing. `timing` tells which.
  StepOrder(const LayerGraph &graph, Timing &timing, int devices) {
    findPositions(graph, timing, devices);
    findPorts(graph);
  }
  int firstWeight =
      0; ///< the first position that makes gradients of parameters
  /// The rows behind all positions that do, and the last one: the ends of
  /// stretches, of which the first one begins at `firstWeight`.
  std::vector<int> stretches;
  PortSet noPorts() const { return PortSet((ports.size() + 63) / 64); }

  std::vector<Position> positions;
  std::vector<Port> ports; ///< by the position they leave
  /// Of each layer: what it makes and reads, and what others read later of the
  /// tensors that it reads.
  std::vector<llvm::BitVector> portsOf;
  std::vector<llvm::BitVector> positionsOf; ///< of each layer
  /// Of each row: the ports that leave before it and are needed behind it.
  std::vector<PortSet> crossing;

private:
  void findPositions(const LayerGraph &graph, Timing &timing, int devices);
  void findPorts(const LayerGraph &graph);
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_STEPORDER_H

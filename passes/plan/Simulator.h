//===- Simulator.h - How long a step takes under a plan ---------*- C++ -*-===//
//
// Plays a step: every device has an in-order lane for kernels and one for what
// it receives, as programs have; each layer's kernels start when what they read
// is there, forward in the model's order, then backward in its reverse; what a
// layer needs from other devices is fetched when its turn comes; parameters are
// updated as soon as their gradients exist, beside the rest of the backward
// pass. The step ends when all lanes are idle: programs do not let steps
// overlap, so that every step takes as long.
//
// FlexFlow (Jia et al. 2019, 5) does this on a graph of tasks with queues. Here
// the order on each lane is known beforehand, so that a step is one walk over
// the stages of layers, and the state after a stage is when each lane is free.
// In delta mode, only the stages from the first one that a change can reach are
// walked again. Times are whole numbers (Timing.h): both modes agree exactly.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SIMULATOR_H
#define LWCC_PASSES_PLAN_SIMULATOR_H

#include "passes/plan/Timing.h"

namespace lwcc::plan {

/// How each layer of a graph is cut and placed, by its number.
using Tilings = std::vector<Tiling>;

/// Of a plan that covers the graph (Plan.h, check).
Tilings tilingsOf(const LayerGraph &graph, const Plan &plan);
Plan planOf(const Problem &problem, const Tilings &tilings,
            llvm::StringRef strategy);

class Simulator {
public:
  explicit Simulator(const Problem &problem);

  /// Full mode: the whole step, for which nothing is remembered.
  Ticks simulate(const Tilings &tilings);

  struct Change {
    int layer;
    Tiling tiling;
  };
  /// Delta mode: how long the step would take with some layers cut otherwise.
  Ticks propose(llvm::ArrayRef<Change> changes);
  /// The last proposal holds from now on.
  void accept();

  /// Of what holds.
  Ticks step() const { return result; }
  const Tilings &tilings() const { return held; }
  /// What devices exchange in a step.
  int64_t bytes() const;

  /// Bytes that the fullest device needs, as far as a plan shows: of what
  /// holds, and of the last proposal.
  int64_t memory() const;
  int64_t proposedMemory() const;

private:
  /// A layer's kernels of one stage.
  struct Position {
    int layer;
    Stage stage;
    std::vector<int> fetched;   ///< exchanges before the kernels
    std::vector<int> regrouped; ///< exchanges among their own results
  };
  /// A tensor on its way to a layer.
  struct Port {
    int tensor, maker, reader; ///< the layers
    size_t made, read;         ///< which of TimedLayer's sets
    int from, to;              ///< positions
  };
  /// Ticks: per device, when the lanes are free, and what the next kernel loses
  /// to transfers that run beside it.
  struct Row {
    Ticks *compute, *transfer, *lost;
  };
  using TimedLayers = std::vector<std::shared_ptr<const TimedLayer>>;

  void findPositions();
  void findPorts();
  std::shared_ptr<const Exchange> exchangeOf(const Port &port) const;
  Row rowAt(int position) const;
  void walk(int first);
  void receive(const Exchange &exchange, const Ticks *ready, Row row) const;
  void update(const TimedLayer &layer, Row row) const;
  static void addMemory(const TimedLayer &layer, std::vector<int64_t> &sum,
                        int sign);
  void addMemory(int port, const Exchange &exchange, std::vector<int64_t> &sum,
                 int sign) const;

  const Problem &problem;
  const int devices;
  mutable std::unique_ptr<Timing> timing;
  std::vector<Position> positions;
  std::vector<Port> ports;
  std::vector<std::vector<int>> portsOf; ///< of each layer

  Tilings held;
  TimedLayers layers;
  std::vector<std::shared_ptr<const Exchange>> exchanges; ///< of each port
  std::vector<int64_t> memoryUse;
  Ticks result = 0;

  /// Rows before `firstTried` hold; from there on, those of the last proposal
  /// stand beside them.
  std::vector<Ticks *> rows, triedRows;
  std::vector<Ticks> storage;
  int firstTried = 0;
  std::vector<Change> tried;
  std::vector<std::shared_ptr<const TimedLayer>> triedLayers;
  std::vector<std::pair<int, std::shared_ptr<const Exchange>>> triedExchanges;
  std::vector<int64_t> triedMemory;
  Ticks triedResult = 0;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SIMULATOR_H

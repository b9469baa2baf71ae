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
// In delta mode, only stages that a change reaches are walked again: from the
// layer that is changed until all lanes are as they were but for a shift of
// time, and so for the backward pass. Times are whole numbers (Timing.h), so
// that both modes agree exactly.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_SIMULATOR_H
#define LWCC_PASSES_PLAN_PRICE_SIMULATOR_H

#include "passes/plan/price/StepOrder.h"
#include "passes/plan/price/Timing.h"

namespace lwcc::plan {

class Simulator {
public:
  explicit Simulator(const Setting &setting);

  /// Full mode: the whole step.
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
  /// Ticks: per device, when the lanes are free, and what the next kernel loses
  /// to transfers that run beside it.
  struct Row {
    Ticks *compute, *transfer, *lost;
  };
  using SharedExchange =
      std::shared_ptr<const Exchange>; ///< null: nothing moves
  SharedExchange findExchange(const StepOrder::Port &port);
  void swapExchange(int port, SharedExchange &other);
  static Row rowOf(Ticks *values, int devices) {
    return {values, values + devices, values + 2 * devices};
  }
  /// Of a row, when a lane was free: as it holds, and under the proposal.
  Ticks heldAt(int row, int lane) const {
    return rows[row][lane] + shifts[row];
  }
  Ticks triedAt(int row, int lane) const {
    return isWalked(row) ? triedRows[row][lane]
                         : heldAt(row, lane) + shiftOf(row);
  }
  const Ticks *computeAt(int row, Ticks *values) const;
  /// From a row that was walked to the next one that a change reaches: those
  /// between differ from what holds by a shift, but for transfer lanes that
  /// receive nothing.
  struct Jump {
    int from, to;
  };
  Ticks freeAfter(const Jump &jump, int row, int device) const;
  bool isWalked(int row) const { return row >= firstTried && walked[row]; }
  Ticks shiftOf(int row) const {
    return row < firstTried ? 0 : triedShifts[row];
  }
  void walk(llvm::ArrayRef<int> stops, bool anew);
  void play(int position);
  void swapTables();
  bool isShifted(int row, Ticks &shift) const;
  bool isShifted(int port, int row, Ticks shift) const;
  Ticks latestAt(int row) const;
  void receive(const Exchange &exchange, const Ticks *ready, Row row) const;
  void update(const TimedLayer &layer, Row row) const;
  static void addMemory(const TimedLayer &layer, std::vector<int64_t> &sum,
                        int sign);
  void addMemory(int port, const Exchange *exchange, std::vector<int64_t> &sum,
                 int sign) const;

  const Setting setting;
  const int devices;
  Timing timing;
  const StepOrder order;
  StepOrder::PortSet moving; ///< those through which something moves

  Tilings held;
  std::vector<std::shared_ptr<const TimedLayer>> layers;
  std::vector<SharedExchange> exchanges; ///< of each port
  std::vector<int64_t> memoryUse;
  Ticks result = 0;

  /// The state before each position and at the end, of what holds, and what is
  /// to be added to all its times. A proposal replaces rows from `firstTried`
  /// on: by those that were walked anew, or by a further shift.
  std::vector<Ticks *> rows, triedRows;
  std::vector<Ticks> shifts, triedShifts;
  std::vector<char> walked;
  std::vector<Jump> jumps; ///< of the proposal, in order
  std::vector<Ticks> storage;
  int firstTried = 0;
  std::vector<Change> tried;
  std::vector<std::shared_ptr<const TimedLayer>> triedLayers;
  std::vector<int> movedPorts;
  std::vector<SharedExchange> triedExchanges; ///< of these
  std::vector<int64_t> triedMemory;
  Ticks triedResult = 0;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_SIMULATOR_H

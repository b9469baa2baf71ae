//===- Simulator.h - How long a step takes under a plan ---------*- C++ -*-===//
//
// How long a step takes under a plan. Every device has in-order lanes for
// kernels, for what these read from other devices, and for parameters, as
// programs have. The rules of a step:
//
//   - The kernels of a layer start when what they read has arrived: forward in
//     the model's order, then backward in its reverse (StepOrder.h).
//   - Gradients of parameters are made while a device waits, and else as soon
//     as they can be.
//   - What a layer needs from other devices is cut as soon as it is made, and
//     fetched and assembled when the layer's turn comes.
//   - A parameter is updated as soon as its gradients exist, beside the rest of
//     the backward pass. What layers fetch goes before that.
//   - The step ends when all lanes are idle. Programs do not let steps overlap,
//     so that every step takes as long.
//
// FlexFlow (Jia et al. 2019, 5) does this on a graph of tasks with queues. Here
// the order on each lane is known beforehand. So a step is one walk over the
// positions of StepOrder.h, and the state at each row is when each lane is
// free.
//
// In delta mode only positions that a change reaches are walked again: from the
// layer that is changed until all lanes are as they were but for a shift of
// time, and so again in the backward pass. What nothing but updates waits for
// is played behind that, in the same way (`finish`). Times are whole numbers
// (Ticks.h), so that both modes agree exactly.
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
  /// Delta mode: how long the step would take with some layers cut differently.
  Ticks propose(llvm::ArrayRef<Change> changes);
  /// Makes the last proposal the state that holds.
  void accept();

  Ticks step() const { return result; }           ///< of what holds
  const Tilings &tilings() const { return held; } ///< that hold
  int64_t bytes() const; ///< that devices exchange in a step
  /// The tasks of a layer under any tiling. The answer stays until the next
  /// plan is simulated or proposed.
  const TimedLayer &timed(int layer, const Tiling &tiling) {
    return timing.layer(layer, tiling);
  }

  /// Bytes that the fullest device needs, as far as a plan shows: under the
  /// tilings that hold, and under the last proposal.
  int64_t memory() const;
  int64_t proposedMemory() const;

private:
  /// A row: for each device when its lanes are free, and how much its next
  /// kernel loses to transfers that run beside it; then how long it waited for
  /// the position before the row, and how long it received for it. Gradients of
  /// parameters that only updates wait for are not in it.
  struct Row {
    Ticks *compute, *transfer, *lost, *waited, *received;
    static constexpr int width = 5;
  };
  void askAnew();
  PlacedExchange findExchange(const StepOrder::Port &port);
  void swapExchange(int port, PlacedExchange &other);
  static Row rowOf(Ticks *values, int devices) {
    return {values, values + devices, values + 2 * devices,
            values + 3 * devices, values + 4 * devices};
  }
  /// When a lane is free at a row: as it holds, and under the proposal.
  Ticks heldAt(int row, int lane) const {
    return rows[row][lane] + shifts[row];
  }
  Ticks triedAt(int row, int lane) const {
    return isWalked(row) ? triedRows[row][lane]
                         : heldAt(row, lane) + shiftOf(row);
  }
  const Ticks *computeAt(int row, Ticks *values) const;
  /// A jump from a row that was walked to the next row that a change reaches.
  /// The rows between differ from what holds by a shift of time, except for
  /// transfer lanes that receive nothing.
  struct Jump {
    int from, to;
  };
  bool hasReceivedNothing(const Jump &jump, int row, int device) const;
  Ticks freeAfter(const Jump &jump, int row, int device) const;
  bool isWalked(int row) const { return row >= firstTried && walked[row]; }
  Ticks shiftOf(int row) const {
    return row < firstTried ? 0 : triedShifts[row];
  }
  void walk(bool anew);
  void play(int position);
  void swapTables();
  bool isShifted(int row, Ticks &shift);
  bool isShifted(int port, int row, Ticks shift) const;
  Ticks latestAt(int row) const;
  void receive(const PlacedExchange &placed, const Ticks *ready, Row row) const;
  void slowDown(const TimedLayer &layer, Row row) const;
  bool isAnyWalked(int first, int last) const;
  Ticks finish();
  void takeLeft(size_t stretch);
  void playBeside(int position);
  bool isLeftShifted(size_t stretch) const;
  void update(const TimedLayer &layer, int row);
  static void addMemory(const TimedLayer &layer, std::vector<int64_t> &sum,
                        int sign);
  void addMemory(int port, const PlacedExchange &placed,
                 std::vector<int64_t> &sum, int sign) const;

  const Setting setting;
  const int devices;
  Timing timing;
  const StepOrder order;
  StepOrder::PortSet moving; ///< those through which something moves

  Tilings held;
  std::vector<const TimedLayer *> layers;
  std::vector<PlacedExchange> exchanges; ///< of each port
  /// At least how long it takes to cut what any of these sends.
  Ticks longestCutting = 0;
  std::vector<int64_t> memoryUse;
  Ticks result = 0;

  /// The rows of what holds, and the shift that is to be added to all times of
  /// each. A proposal replaces rows from `firstTried` on, either by rows that
  /// were walked again or by a further shift.
  std::vector<Ticks *> rows, triedRows;
  std::vector<Ticks> shifts, triedShifts;
  std::vector<char> walked;
  /// Of each row: whether devices waited or received for the position before
  /// it.
  std::vector<char> fetching, triedFetching;
  std::vector<Jump> jumps; ///< of the proposal, in order
  int blocking = -1; ///< the port that kept the walk from the last jump, or -1
  std::vector<Ticks> storage;
  int firstTried = 0;
  std::vector<Change> tried;
  std::vector<const TimedLayer *> triedLayers;
  llvm::BitVector stops;       ///< positions that the proposal changes
  llvm::BitVector touched;     ///< ports of the layers that it changes
  std::vector<int> movedPorts; ///< of these, those whose exchange changes
  std::vector<PlacedExchange> triedExchanges; ///< of these
  std::vector<int64_t> triedMemory;
  Ticks triedResult = 0;

  /// While the step is finished: kernels that each device still has to run, and
  /// when its lane for parameters is free.
  std::vector<Ticks> pending, sync;
  /// Both behind each stretch (StepOrder), as they hold, without the shift of
  /// its last row; and under the proposal, if the stretch was played again.
  std::vector<Ticks *> left, triedLeft;
  std::vector<char> isPlayed;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_SIMULATOR_H

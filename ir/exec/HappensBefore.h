//===- HappensBefore.h - The order of work on lanes -------------*- C++ -*-===//
//
// The happens-before relation of a sequence (Lamport 1978), in vector clocks
// (Fidge, Mattern 1988). Lanes are the processes: work of one lane is ordered
// by appending, and a wait adds everything that was finished when the event was
// recorded. Nothing else orders two calls.
//
// Read by Synchronize.cpp (which waits are needed), PlanMemory.cpp (lifetimes)
// and ScheduleVerifier.cpp (races). It is built in one pass in the order of
// appending; a query costs O(1). Work of different runs is not compared: every
// run ends before the next begins (ir/exec/README.md).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_HAPPENSBEFORE_H
#define LWCC_IR_EXEC_HAPPENSBEFORE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace lwcc {

/// A call on a lane: the `index`-th that is appended to it, from 1. Index 0 is
/// the start of the run, which precedes all work.
struct Stamp {
  int lane = 0;
  int index = 0;
};

/// A vector clock: per lane, how much of its work is finished.
using Clock = llvm::SmallVector<int, 4>;

/// What is finished behind a call of a lane. Between two waits a lane learns of
/// no work but its own, so that its calls share one clock of the others.
struct Knowledge {
  Stamp last; ///< the call
  std::shared_ptr<const Clock> others;
};

/// The clocks of all lanes at one point of the walk over a sequence.
class HappensBefore {
public:
  HappensBefore(int lanes, int events)
      : clocks(lanes, Clock(lanes, 0)), shared(lanes), recorded(events) {}

  int lanes() const { return static_cast<int>(clocks.size()); }

  /// Appends a call to a lane.
  Stamp append(int lane) { return {lane, ++clocks[lane][lane]}; }

  /// What is finished behind all that was appended to the lane so far.
  Knowledge knowledge(int lane) {
    if (!shared[lane])
      shared[lane] = std::make_shared<const Clock>(clocks[lane]);
    return {{lane, clocks[lane][lane]}, shared[lane]};
  }

  /// Records an event behind everything that was appended to the lane.
  void record(int event, int lane) { recorded[event] = knowledge(lane); }

  /// Lets later work of the lane start only after the event. Returns false, and
  /// orders nothing, if the event is not recorded yet.
  bool wait(int event, int lane) {
    if (!recorded[event].others)
      return false;
    join(lane, recorded[event]);
    return true;
  }

  /// Lets later work of the lane start only after all of that is finished.
  void join(int lane, const Knowledge &known) {
    Clock &mine = clocks[lane];
    for (auto [now, then] : llvm::zip_equal(mine, *known.others))
      now = std::max(now, then);
    int &own = mine[known.last.lane];
    own = std::max(own, known.last.index);
    shared[lane].reset();
  }

  /// Whether `work` is finished when the next call of `lane` starts.
  bool finished(Stamp work, int lane) const {
    return clocks[lane][work.lane] >= work.index;
  }

  /// What is finished when the next call of `lane` starts.
  const Clock &clock(int lane) const { return clocks[lane]; }

private:
  std::vector<Clock> clocks;
  std::vector<std::shared_ptr<const Clock>> shared; ///< null: out of date
  std::vector<Knowledge> recorded; ///< by event; null clock: not recorded yet
};

} // namespace lwcc

#endif // LWCC_IR_EXEC_HAPPENSBEFORE_H

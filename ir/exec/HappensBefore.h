//===- HappensBefore.h - What is finished when work starts ------*- C++ -*-===//
//
// The order that lanes and events impose on a sequence, as vector clocks. A
// lane runs its work in the order of appending; a wait adds everything that was
// finished when the event was recorded. Nothing else orders two pieces of work.
//
// Built in one pass over the sequence in the order of appending; a question
// costs O(1). Between runs nothing is asked: all work of a run precedes the
// next run (ir/exec/README.md).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_HAPPENSBEFORE_H
#define LWCC_IR_EXEC_HAPPENSBEFORE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace lwcc {

/// Work on a lane: the `index`-th piece appended to it, from 1. Index 0 stands
/// for the start of the run, which precedes everything.
struct Stamp {
  int lane = 0;
  int index = 0;
};

/// Per lane, how many pieces of its work are finished.
using Clock = llvm::SmallVector<int, 4>;

class HappensBefore {
public:
  HappensBefore(int lanes, int events)
      : clocks(lanes, Clock(lanes, 0)), recorded(events) {}

  int lanes() const { return static_cast<int>(clocks.size()); }

  /// Appends work to a lane.
  Stamp append(int lane) { return {lane, ++clocks[lane][lane]}; }

  /// Records an event behind what the lane holds so far.
  void record(int event, int lane) { recorded[event] = clocks[lane]; }

  /// Makes what follows on the lane start after the event. False if it is not
  /// recorded yet: such a wait orders nothing (or never ends).
  bool wait(int event, int lane) {
    if (recorded[event].empty())
      return false;
    join(lane, recorded[event]);
    return true;
  }
  bool isRecorded(int event) const { return !recorded[event].empty(); }

  /// Makes what follows on the lane start after everything in `clock`.
  void join(int lane, const Clock &clock) {
    for (int l = 0, end = lanes(); l < end; ++l)
      clocks[lane][l] = std::max(clocks[lane][l], clock[l]);
  }

  /// Whether `work` is finished when what is appended to `lane` next starts.
  bool finished(Stamp work, int lane) const {
    return clocks[lane][work.lane] >= work.index;
  }

  /// What is finished when the work appended to `lane` next starts.
  const Clock &clock(int lane) const { return clocks[lane]; }

private:
  std::vector<Clock> clocks;
  std::vector<Clock> recorded; ///< empty: not yet
};

} // namespace lwcc

#endif // LWCC_IR_EXEC_HAPPENSBEFORE_H

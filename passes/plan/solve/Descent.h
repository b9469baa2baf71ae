//===- Descent.h - Coordinate descent over plans ----------------*- C++ -*-===//
//
// Takes one group of layers after the other, and a few in a row, and gives them
// the way to be cut and placed with which the simulated step is quickest while
// all others stay as they are. It ends when a whole round finds nothing more.
//
// A way is a tiling of the space (Space.h) with its tiles on devices in turn,
// from any multiple of their number on, or spread evenly over all devices, such
// as one tile per node. Where there are too many ways to try, those come first
// that take the layer alone the least time: calls, and the exchange of its
// parameters.
//
// A chain (Mcmc.h) may leave a valley that descent ends in, but finds by chance
// what descent looks for. So descent goes first, and the chain polishes.
//
// Does not know programs: which of the plans that searches reach is taken is
// decided by Auto.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_DESCENT_H
#define LWCC_PASSES_PLAN_SOLVE_DESCENT_H

#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include <chrono>

namespace lwcc::plan {

class Descent {
public:
  using Clock = std::chrono::steady_clock;
  Descent(const Problem &problem, Simulator &simulator);

  /// Descends from `start`. The tilings that are reached hold in the simulator.
  /// They need no more memory than the devices have, or less than `start`.
  /// Returns whether it ended before the deadline.
  bool run(const Tilings &start, Clock::time_point deadline);

private:
  struct Group {
    LayerGroup layers;
    std::vector<Tiling> ways; ///< of the leader, the most promising first
  };
  void addWays(Group &group, size_t most) const;
  Ticks timeAlone(const Group &group, const Tiling &leader) const;
  /// Whether a better way was found for `count` groups from `first` on.
  bool improve(size_t first, size_t count);
  /// Cuts `count` groups alike; empty if one of them cannot be.
  std::vector<Simulator::Change> changesTo(size_t first, size_t count,
                                           const Tiling &way) const;

  const Problem &problem;
  Simulator &simulator;
  std::vector<Group> groups;
  Clock::time_point deadline;
  bool ended = true;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_DESCENT_H

//===- Descent.h - Coordinate descent over plans ----------------*- C++ -*-===//
//
// Takes one group of layers after the other, then rows of them, branches and
// branches together (GroupSets.h), and gives them
// the way to be cut and placed with which the simulated step is quickest while
// all others stay as they are. It ends when a whole round finds nothing more.
//
// A way is a tiling of the space (Space.h) with its tiles on devices in turn,
// from any multiple of their number on, or spread evenly over all devices, such
// as one tile per node. Where there are too many ways to try, those come first
// that take the layer alone the least time: calls, and the exchange of its
// parameters.
//
// By itself, as strategy `descent`, it starts from the fixed strategies and
// from `layerwise`, and then again where it was best, disturbed.
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
#include "passes/plan/solve/GroupSets.h"
#include "passes/plan/solve/Solvers.h"

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
  /// Descends again and again, each time from what the simulator has with some
  /// groups changed at random, until `most` descents in a row have found
  /// nothing better. The best holds in the simulator.
  bool restart(uint64_t seed, int most, Clock::time_point deadline);

private:
  struct Group {
    LayerGroup layers;
    std::vector<Tiling> ways; ///< of the leader, the most promising first
  };
  void addWays(Group &group, size_t most) const;
  Ticks timeAlone(const Group &group, const Tiling &leader) const;
  /// Whether a better way was found for these groups.
  bool improve(const GroupSet &set);
  /// Cuts these groups alike; empty if one of them cannot be.
  std::vector<Simulator::Change> changesTo(const GroupSet &set,
                                           const Tiling &way) const;

  const Problem &problem;
  Simulator &simulator;
  std::vector<Group> groups;
  std::vector<GroupSet> sets;
  Clock::time_point deadline;
  bool ended = true;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_DESCENT_H

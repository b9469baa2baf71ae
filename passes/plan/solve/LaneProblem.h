//===- LaneProblem.h - Which lane of its device does what -------*- C++ -*-===//
//
// Given are the tasks of a step, their devices and dependences, how long each
// takes and how much of its device it uses. Wanted is a lane for each unit, so
// that the step is short. The nouns of this problem:
//
//   task    calls that run one behind the other on one lane
//   unit    tasks that a plan can only move together, such as a layer's
//           backward pass; on lane l its tasks run on lane l + shift
//   tail    of a task: the seconds of the longest path from its start to the
//           end of the step, if lanes were free
//   move    units that are tried on another lane together
//
// A lane that is free takes the task with the longest tail of those that are
// ready, as train-schedule does about (../../schedule/ScheduleProblem.h). Calls
// that run at once slow each other down as in ../price/LaneSharing.h.
//
// The solver is HEFT (Topcuoglu, Hariri, Wu, "Performance-effective and
// low-complexity task scheduling", 2002), list scheduling by tail, and then a
// descent by moves, each of which is simulated. It need not find the optimum.
//
// Does not decide how layers are cut, nor whether lanes pay: Lanes.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_LANEPROBLEM_H
#define LWCC_PASSES_PLAN_SOLVE_LANEPROBLEM_H

#include "passes/plan/price/LaneSharing.h"

#include <vector>

namespace lwcc::plan {

struct LaneTask {
  int device = 0;
  int unit = 0;
  int shift = 0;
  double whole = 0; ///< seconds if the device has but one lane
  double alone = 0; ///< seconds on a lane if the other lanes are idle
  DeviceUse use;    ///< while it runs; nothing on CPUs
  /// Seconds of all processors and of all bandwidth that it takes, however it
  /// runs: what no choice saves.
  double processors = 0, memory = 0;
  std::vector<int> after; ///< earlier tasks that it needs
};

struct LaneProblem {
  int lanes = 1; ///< of each device
  int devices = 1;
  double waking = 0; ///< seconds that an idle lane takes to see that a task of
                     ///< another lane is done
  std::vector<LaneTask> tasks; ///< each behind those that it needs
  int units = 0;
  std::vector<std::vector<int>> moves; ///< beside those of single units
};

/// The lane of each unit, 0 to lanes - 1.
using LaneChoice = std::vector<int>;

/// Seconds of a step.
double stepOf(const LaneProblem &problem, const LaneChoice &choice);

/// A good choice, never slower than all units on lane 0. Deterministic.
LaneChoice solve(const LaneProblem &problem);

/// What no choice can beat, in seconds: of the device where they are largest.
struct LaneBound {
  double sum = 0;  ///< of all tasks, one behind the other
  double path = 0; ///< the longest, each task with its device to itself
  double processors = 0, memory = 0; ///< sums of the tasks'
  /// How many times as quick as one lane it may be at best.
  double gain() const;
};
LaneBound boundOf(const LaneProblem &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_LANEPROBLEM_H

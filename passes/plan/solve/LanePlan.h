//===- LanePlan.h - A plan's layers on the lanes of devices -----*- C++ -*-===//
//
// A plan as a problem of lanes (LaneProblem.h), and an answer to that as a
// plan: which tasks layers have, what each needs, how long it takes on a device
// that is divided into lanes, and what is tried on another lane together.
// Layers may be cut into a fragment for each lane.
//
// Knows nothing of what devices exchange. Which lanes are best, and whether
// they pay, is decided elsewhere (LaneProblem.h, Lanes.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_LANEPLAN_H
#define LWCC_PASSES_PLAN_SOLVE_LANEPLAN_H

#include "passes/plan/solve/LaneProblem.h"
#include "passes/plan/solve/Solvers.h"

#include <array>
#include <optional>

namespace lwcc::plan {

/// Which layers are cut into fragments, one for each lane.
enum class Fragments { none, ofImages, ofAll };

class LanePlan {
public:
  /// The lanes that a plan has are where its tasks run under a choice of zeros.
  /// `costs` are those of a device that has one lane.
  LanePlan(const Problem &problem, const CostModel &costs, const Plan &plan,
           int lanes, Fragments fragments);

  LaneProblem lanes;
  Plan planOf(const LaneChoice &choice) const;

private:
  void cut(Fragments fragments);
  void addTasks(const CostModel &ofDevice);
  void addDependences();
  void addMoves();

  const Problem &problem;
  Plan plan; ///< cut into fragments
  Tilings tilings;
  /// Of each layer: whether it is cut into fragments, and its units by phase.
  std::vector<bool> isCut;
  std::vector<std::array<int, 3>> units;
  /// The number of a layer's task, by phase and tile.
  std::vector<std::array<std::vector<int>, 3>> taskOf;
  std::vector<LayerTiles> tiles;
};

/// How many devices a plan uses.
int64_t devicesOf(const Problem &problem, const Plan &plan);

/// How many compute lanes the plan uses on a device at most.
int lanesOf(const Plan &plan);

/// Seconds of a step of a plan with several lanes on its only device, by this
/// problem's clock. Nothing of a plan whose devices exchange something.
std::optional<double> secondsOfLanes(const Problem &problem, const Plan &plan);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_LANEPLAN_H

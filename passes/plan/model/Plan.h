//===- Plan.h - A tiling and a place per layer ------------------*- C++ -*-===//
//
// Defines the nouns of plans. They are the one currency between solvers, files
// and passes; nothing else is decided by a plan, and no solver touches the IR.
//
//   plan        a tiling for every layer (../../../ir/place/Tiling.h), and
//               perhaps the order of some lanes
//   layer plan  the tiling of one layer
//   lane order  in which order a lane does some of its tasks
//               (../../../ir/place/Work.h)
//   lane width  how many of its device's threads a lane has
//   group       layers that a lane order names together: a stage of a pipeline
//
// A plan as a file is JSON that a person can read and edit. ../README.md
// describes it, plan.schema.json is its schema. A plan that is read is checked
// against the model and the machine, never trusted.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_PLAN_H
#define LWCC_PASSES_PLAN_MODEL_PLAN_H

#include "ir/place/Tiling.h"
#include "ir/place/Work.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lwcc::plan {

/// Compute lanes that a device may have.
inline constexpr int64_t computeLanes = 16;
/// Threads that a plan may give a lane.
inline constexpr int64_t mostThreads = 1024;
/// Of a layer: 64 on each of 64 devices, or 4 on each of as many as there may
/// be.
inline constexpr int64_t mostTiles = 4096;

struct LayerPlan {
  std::string layer;
  Tiling tiling;
  /// The lane of a phase that runs on another lane of its tile's device.
  std::map<Phase, int64_t> lanes;
  bool operator==(const LayerPlan &) const = default;
  /// Where a tile runs in a phase.
  Place place(int64_t tile, Phase phase) const;
};

/// `NAME[i]` in a lane order is, of each layer of the group, the i-th tile on
/// that lane; `NAME` is all of them.
struct Group {
  std::string name;
  std::vector<std::string> layers;
  bool operator==(const Group &) const = default;
};

/// In which order a lane does some of its work. What is not named runs when the
/// compiler finds it best. A task's layer may be a group.
struct LaneOrder {
  Place lane;
  std::vector<Task> tasks;
  bool operator==(const LaneOrder &) const = default;
};

/// How wide a compute lane of a CPU device is: `threads` of those of all lanes
/// of its device. A device with more or fewer threads divides them in
/// proportion; a lane that the plan does not name counts as 1.
struct LaneWidth {
  Place lane;
  int64_t threads = 1;
  bool operator==(const LaneWidth &) const = default;
};

struct Plan {
  std::string model, hash; ///< what it was made for
  int64_t batch = 0;
  Machine machine;               ///< what it was made for, too
  std::string strategy;          ///< who made it
  std::vector<LayerPlan> layers; ///< in the model's order
  std::vector<LaneOrder> order;  ///< of some lanes
  std::vector<Group> groups;     ///< that `order` names
  std::vector<LaneWidth> widths; ///< of some lanes
  std::string costs;             ///< what it was priced by, if by anything
  std::string warning;           ///< for whoever asked for it; not in files
  std::string remark;            ///< for --explain; not in files
  bool operator==(const Plan &) const = default;
};

/// What a task of a lane order stands for: itself, or for a group the tiles of
/// its layers. The plan is complete, if perhaps wrong.
std::vector<Task> tasksOf(const Plan &plan, const Place &lane,
                          const Task &task);

struct LayerGraph;

//===----------------------------------------------------------------------===//
// Files (PlanFile.cpp)
//===----------------------------------------------------------------------===//

/// A line per layer. Leaves out what a reader would assume anyway.
std::string toJson(const Plan &plan);

/// Reads into `plan`. Returns a sentence for each mistake, which names layer
/// and field.
std::vector<std::string> fromJson(llvm::StringRef text, Plan &plan);

//===----------------------------------------------------------------------===//
// Plans against models (Plan.cpp)
//===----------------------------------------------------------------------===//

/// Removes what a plan says of nodes that are no layers of their own. Returns
/// their names: '"add3", "relu5"'.
std::string dropAbsorbed(Plan &plan, const LayerGraph &graph);

/// Fills in the places and the layers that a person may leave out.
void complete(Plan &plan, const LayerGraph &graph, const Machine &machine);

/// Returns a sentence for each reason why the plan does not fit the model and
/// the machine. If there is none, `plan.layers` are exactly the model's layers.
std::vector<std::string> check(const Plan &plan, const LayerGraph &graph,
                               const Machine &machine);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_PLAN_H

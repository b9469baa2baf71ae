//===- Plan.h - A tiling and a place per layer ------------------*- C++ -*-===//
//
// The one currency between solvers, files and passes: for every layer, how it
// is cut and where each piece runs. Nothing else is decided by a plan, and no
// solver touches the IR.
//
// As a file a plan is JSON that a person can read and edit; README.md describes
// it, plan.schema.json is its schema. A plan that is read is checked against
// the model, never trusted.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_PLAN_H
#define LWCC_PASSES_PLAN_MODEL_PLAN_H

#include "ir/place/Work.h"
#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::plan {

/// Sample, channel, height, width and reduction, by their names in files.
inline constexpr llvm::StringLiteral dimensions = "nchwk";
using Extents = std::array<int64_t, 5>;

/// Compute lanes that a device may have.
inline constexpr int64_t computeLanes = 16;
/// Of a layer: 64 on each of 64 devices.
inline constexpr int64_t mostTiles = 4096;

/// How many parts a layer is cut into along each dimension; one place per tile,
/// row-major over them.
struct Tiling {
  Extents degrees = {1, 1, 1, 1, 1};
  std::vector<Place> places = {Place{}};
  /// Of the dimensions whose parts differ by more than one: their sizes.
  std::array<std::vector<int64_t>, 5> sizes;

  int64_t tiles() const; ///< at most the largest number there is
  bool operator==(const Tiling &) const = default;
};

struct LayerPlan {
  std::string layer;
  Tiling tiling;
  bool operator==(const LayerPlan &) const = default;
};

/// In which order a lane does some of its work. What is not named runs when the
/// compiler finds it best.
struct LaneOrder {
  Place lane;
  std::vector<Task> tasks;
  bool operator==(const LaneOrder &) const = default;
};

struct Plan {
  std::string model, hash; ///< what it was made for
  int64_t batch = 0;
  Machine machine;               ///< what it was made for, too
  std::string strategy;          ///< who made it
  std::vector<LayerPlan> layers; ///< in the model's order
  std::vector<LaneOrder> order;  ///< of some lanes
  std::string costs;             ///< what it was priced by, if by anything
  std::string warning;           ///< for who asked for it; in no file
  bool operator==(const Plan &) const = default;
};

struct LayerGraph;

//===----------------------------------------------------------------------===//
// Files (PlanFile.cpp)
//===----------------------------------------------------------------------===//

/// A line per layer; what a reader would assume anyway is left out.
std::string toJson(const Plan &plan);

/// Reads into `plan`; returns everything that is wrong with the text, a
/// sentence each that names layer and field.
std::vector<std::string> fromJson(llvm::StringRef text, Plan &plan);

//===----------------------------------------------------------------------===//
// Plans against models (Plan.cpp)
//===----------------------------------------------------------------------===//

/// Takes out what a plan says of nodes that are no layers of their own, and
/// returns their names: '"add3", "relu5"'.
std::string dropAbsorbed(Plan &plan, const LayerGraph &graph);

/// Fills in what a person may leave out: places, and layers.
void complete(Plan &plan, const LayerGraph &graph, const Machine &machine);

/// Everything that makes the plan unfit for the model and the machine, one
/// sentence each; empty if it fits. On success `plan.layers` covers exactly the
/// model's layers.
std::vector<std::string> check(const Plan &plan, const LayerGraph &graph,
                               const Machine &machine);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_PLAN_H

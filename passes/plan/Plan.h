//===- Plan.h - A tiling and a place per layer ------------------*- C++ -*-===//
//
// The one currency between solvers, files and passes: for every layer, how it
// is cut and where each piece runs. Nothing else is decided by a plan, and no
// solver touches the IR.
//
// As a file a plan is JSON that a person can read and edit:
//
//   {
//     "version": 1,
//     "model": "lenet5.onnx",
//     "hash": "5f1d...",
//     "batch": 64,
//     "strategy": "single",
//     "layers": {
//       "conv1": {"n": 1, "c": 1, "h": 1, "w": 1, "k": 1, "places": ["0.0.0"]}
//     }
//   }
//
// A degree that is 1 may be left out; without places the tiles go to the GPUs
// in turn, so "conv1": {"n": 4} is a whole entry; a layer that is not named is
// cut and placed like its producer. A plan that is read is checked against the
// model, never trusted.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PLAN_H
#define LWCC_PASSES_PLAN_PLAN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::plan {

struct Place {
  int64_t node = 0, gpu = 0, lane = 0;
  bool operator==(const Place &) const = default;
};

/// Degrees of sample, channel, height, width and reduction; one place per tile,
/// row-major over them.
struct Tiling {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1;
  std::vector<Place> places = {Place{}};

  int64_t tiles() const { return n * c * h * w * k; }
  bool operator==(const Tiling &) const = default;
};

struct LayerPlan {
  std::string layer;
  Tiling tiling;
  bool operator==(const LayerPlan &) const = default;
};

struct Plan {
  std::string model, hash; ///< what it was made for
  int64_t batch = 0;
  std::string strategy;          ///< who made it
  std::vector<LayerPlan> layers; ///< in the model's order
  bool operator==(const Plan &) const = default;
};

/// The part of a model that planning looks at: its layers, in order.
struct LayerGraph {
  struct Layer {
    std::string name;
    std::vector<int64_t> shape; ///< of the forward result: n, c, h, w
    int producer = -1; ///< the earlier layer whose result it reads, if any
  };
  std::string model, hash;
  int64_t batch = 0;
  std::vector<Layer> layers;
};

/// What a plan may use.
struct Machine {
  int64_t nodes = 1;
  int64_t gpus = 1; ///< per node
};

std::string toJson(const Plan &plan);
/// Errors name the layer and the field.
llvm::Expected<Plan> fromJson(llvm::StringRef text);

/// Fills in what a person may leave out: places, and layers.
void complete(Plan &plan, const LayerGraph &graph, const Machine &machine);

/// Everything that makes the plan unfit for the model and the machine, one
/// sentence each; empty if it fits. On success `plan.layers` covers exactly the
/// model's layers.
std::vector<std::string> check(const Plan &plan, const LayerGraph &graph,
                               const Machine &machine);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PLAN_H

//===- PlanTargets.cpp - The planner's files ------------------------------===//

#include "passes/plan/model/LayerGraph.h"
#include "passes/plan/price/Profile.h"
#include "test/fuzz/Targets.h"

using namespace lwcc;
using namespace lwcc::plan;

static llvm::StringRef textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Layers of images and of features, one of which follows the other.
static LayerGraph smallModel() {
  LayerGraph graph;
  graph.batch = 8;
  auto add = [&](const char *name, Extents extents, int rank, int producer) {
    LayerGraph::Layer layer;
    layer.name = name;
    layer.extents = extents;
    layer.rank = rank;
    layer.producer = producer;
    graph.layers.push_back(layer);
  };
  add("conv1", {8, 6, 28, 28, 3}, 4, -1);
  add("relu1", {8, 6, 28, 28, 1}, 4, 0);
  add("fc", {8, 10, 1, 1, 4704}, 2, 1);
  add("loss", {8, 1, 1, 1, 1}, 2, 2);
  return graph;
}

int lwcc::fuzz::readPlan(const uint8_t *data, size_t size) {
  static const LayerGraph graph = smallModel();
  Machine machine;
  machine.gpus = 4;
  Plan plan;
  if (!fromJson(textOf(data, size), plan).empty())
    return 0;
  complete(plan, graph, machine);
  if (check(plan, graph, machine).empty())
    (void)toJson(plan);
  return 0;
}

int lwcc::fuzz::readMachine(const uint8_t *data, size_t size) {
  Machine machine;
  if (machineFromJson(textOf(data, size), machine).empty())
    (void)toJson(machine);
  return 0;
}

int lwcc::fuzz::readCosts(const uint8_t *data, size_t size) {
  Profile profile;
  (void)profileFromJson(textOf(data, size), profile);
  return 0;
}

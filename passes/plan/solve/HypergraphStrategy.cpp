//===- HypergraphStrategy.cpp - Parts of layers on devices ----------------===//
//
// The strategy `hypergraph`: blocks of layers are given to devices such that
// the least is sent between these and all have as much to compute (Blocks.h),
// after Eserol 2019, "Fast and efficient model parallelism for deep
// convolutional neural networks". One device waits for what others make, so
// samples go through in micro-batches: of up to 32 of them, and of the orders
// below, the strategy takes what has the shortest step.
//
// An order is a schedule of pipelines (PipelineOrder.h), where a device is a
// stage. If a device makes what an earlier one reads, only `gpipe` is an order
// for sure: any other might let devices wait for each other.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/Blocks.h"
#include "passes/plan/solve/PipelineOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <map>

using namespace lwcc;
using namespace lwcc::plan;

/// Whether all that a device reads is made by itself or by one before it.
static bool goesForward(const Problem &problem, const Tilings &tilings) {
  auto devices = [&](int layer) {
    std::vector<int64_t> all;
    for (const Place &place : tilings[layer].places)
      all.push_back(problem.machine.deviceOf(place));
    return all;
  };
  for (const Tensor &tensor : problem.graph.tensors) {
    if (tensor.made != Phase::forward || tensor.producer < 0)
      continue;
    int64_t last = *llvm::max_element(devices(tensor.producer));
    for (int consumer : tensor.consumers)
      if (last > *llvm::min_element(devices(consumer)))
        return false;
  }
  return true;
}

/// Gives each device's lane its turns. Nothing, if a device has several tiles
/// of a layer for one micro-batch: then a turn is no tile.
static void addOrder(const Problem &problem, Plan &plan, int64_t batches,
                     const PipelineSchedule &schedule) {
  std::map<int64_t, Group> groups; ///< by device
  for (const LayerPlan &layer : plan.layers) {
    std::map<int64_t, int64_t> tiles;
    for (const Place &place : layer.tiling.places)
      ++tiles[problem.machine.deviceOf(place)];
    if (layer.tiling.degrees[alongSamples] != batches)
      continue;
    for (auto [device, count] : tiles) {
      if (count != batches)
        return;
      groups[device].layers.push_back(layer.layer);
    }
  }
  // A layer is in one group at most, so what devices share has none: its tiles
  // are tasks of their own.
  std::map<std::string, int64_t> shared;
  for (const auto &[device, group] : groups)
    for (const std::string &layer : group.layers)
      ++shared[layer];
  // Equal times: the parts have as much to compute.
  Turns turns =
      turnsOf(schedule,
              Pipeline::chain(std::vector<StageTimes>(groups.size()), batches));
  auto turnsOfGroup = turns.begin();
  std::string prefix = "part";
  while (llvm::any_of(plan.layers, [&](const LayerPlan &layer) {
    return llvm::StringRef(layer.layer).starts_with(prefix);
  }))
    prefix = "device " + prefix;
  for (auto &[device, group] : groups) {
    LaneOrder order{problem.machine.place(device), {}};
    group.name = prefix + std::to_string(device);
    for (Turn turn : *turnsOfGroup++)
      order.tasks.push_back({group.name, turn.batch, turn.phase});
    llvm::erase_if(group.layers,
                   [&](const std::string &layer) { return shared[layer] > 1; });
    if (group.layers.empty())
      continue;
    plan.groups.push_back(group);
    plan.order.push_back(order);
  }
}

namespace {
struct Way {
  int64_t batches;
  const PipelineSchedule *schedule;
};
} // namespace

Plan lwcc::plan::solveHypergraph(const Problem &problem) {
  Blocks blocks(problem);
  PartitionSolution found = partition(blocks.partitionProblem());
  Partition parts = blocks.inOrder(found.partition);
  const int64_t most = mostMicroBatches(problem.graph);
  std::vector<int64_t> counts;
  if (problem.search.microBatches > 0)
    counts.push_back(microBatchesUpTo(
        problem.graph, std::min(most, problem.search.microBatches)));
  else if (problem.timesPrograms())
    counts = microBatchCounts(problem.graph);
  else
    counts.push_back(microBatchesUpTo(
        problem.graph, std::min(most, 4 * problem.machine.devices())));
  llvm::erase_if(counts, [&](int64_t count) {
    return !haveWholeGroups(problem.graph, count);
  });
  if (counts.empty())
    counts.push_back(1);

  const bool forward = goesForward(problem, blocks.tilings(parts, 1));
  std::vector<Way> ways;
  for (int64_t count : counts)
    for (const char *name : {"gpipe", "1f1b-eager"})
      if (llvm::StringRef(name) == "gpipe" || (forward && count > 1))
        ways.push_back({count, findPipelineSchedule(name)});
  std::optional<Plan> best;
  double least = 0;
  for (const Way &way : ways) {
    Plan plan = planOf(problem, blocks.tilings(parts, way.batches),
                       llvm::formatv("hypergraph: {0} micro-batches, {1}",
                                     way.batches, way.schedule->name)
                           .str());
    if (way.batches > 1)
      addOrder(problem, plan, way.batches, *way.schedule);
    double step = problem.canTime(plan)
                      ? problem.programStep(plan)
                      : std::numeric_limits<double>::infinity();
    if (best && step >= least)
      continue;
    least = step;
    best = std::move(plan);
    if (!problem.timesPrograms())
      break;
  }
  if (std::string layer = layerOfAllSamples(problem.graph, 2); !layer.empty())
    best->warning = "there is one micro-batch: layer '" + layer +
                    "' needs several samples at once";
  return *best;
}

std::string lwcc::plan::hypergraphOf(const Problem &problem) {
  Blocks blocks(problem);
  return blocks.toHmetis(partition(blocks.partitionProblem()));
}

//===- Stages.cpp - Which layers make a stage of a pipeline ---------------===//
//
// The strategy `pipeline`: the model's layers, in its order, are cut into as
// many stages as there are devices, such that the slowest stage takes as little
// as possible (by dynamic programming, exact). Layers without a forward pass of
// their own go with the layer whose result they read. What links and copies
// take is not looked at here: of several numbers of micro-batches, and of
// several schedules, that is taken whose program has the shortest step. Where
// making programs would take too long, PipelineOrder.h's step decides.
//
// A layer that needs all samples at once, such as batch normalization, has one
// micro-batch, and then so has the model.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/PipelineOrder.h"
#include "passes/plan/solve/Solvers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

static constexpr size_t sampleDimension = 0;
static constexpr double never = std::numeric_limits<double>::infinity();

/// Cuts consecutive numbers into `parts` runs, none of them empty; the largest
/// sum of a run is the least possible. Returns where each run ends.
static std::vector<size_t> cutEvenly(const std::vector<double> &values,
                                     size_t parts) {
  size_t count = values.size();
  std::vector<double> sums(count + 1, 0);
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
  // Of the first k values in p runs: the largest sum, and where the last run
  // begins.
  std::vector<std::vector<std::pair<double, size_t>>> best(
      parts + 1, std::vector<std::pair<double, size_t>>(count + 1, {never, 0}));
  best[0][0].first = 0;
  for (size_t p = 1; p <= parts; ++p)
    for (size_t k = p; k <= count; ++k)
      for (size_t begin = p - 1; begin < k; ++begin)
        best[p][k] = std::min(
            best[p][k],
            {std::max(best[p - 1][begin].first, sums[k] - sums[begin]), begin});
  std::vector<size_t> ends(parts);
  for (size_t p = parts, k = count; p > 0; k = best[p--][k].second)
    ends[p - 1] = k;
  return ends;
}

namespace {
/// A model as a pipeline.
class Stages {
public:
  explicit Stages(const Problem &problem)
      : problem(problem), layers(problem.graph.layers), timing(problem) {
    // The layers in the model's order, each with those that go with it.
    for (auto [i, layer] : llvm::enumerate(layers)) {
      bool goes = layer.producer >= 0 &&
                  timing.layer(i, Tiling())->busy(Phase::forward)[0] == 0;
      blockOf.push_back(goes ? blockOf[layer.producer] : blocks++);
    }
  }

  /// How many micro-batches there may be.
  int64_t most() const {
    int64_t most = std::numeric_limits<int64_t>::max();
    for (const LayerGraph::Layer &layer : layers) {
      if (layer.needsAllSamples)
        return 1;
      if (layer.extents[sampleDimension] > 1)
        most = std::min(most, layer.extents[sampleDimension]);
    }
    return most;
  }

  Plan plan(const PipelineSchedule &schedule, int64_t batches);
  /// A step of what plan() has returned last.
  double step(const Plan &plan, const PipelineSchedule &schedule,
              int64_t batches) const {
    return problem.programStep ? problem.programStep(plan)
                               : stepOf(schedule, times, batches).length;
  }

private:
  const Problem &problem;
  const std::vector<LayerGraph::Layer> &layers;
  Timing timing;
  std::vector<size_t> blockOf; ///< of each layer
  size_t blocks = 0;
  std::vector<StageTimes> times; ///< of the stages of the last plan
};
} // namespace

Plan Stages::plan(const PipelineSchedule &schedule, int64_t batches) {
  Tilings tilings(layers.size());
  std::vector<StageTimes> blockTimes(blocks, {0, 0, 0});
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    if (layers[i].extents[sampleDimension] >= batches)
      tiling.degrees[sampleDimension] = batches;
    tiling.places.assign(tiling.tiles(), problem.machine.place(0));
    std::shared_ptr<const TimedLayer> timed = timing.layer(i, tiling);
    auto each = [&](Phase phase) {
      return static_cast<double>(timed->busy(phase)[0]) / ticksPerSecond /
             static_cast<double>(batches);
    };
    StageTimes &block = blockTimes[blockOf[i]];
    block.forward += each(Phase::forward);
    block.backward += each(Phase::backward);
    block.weight += each(Phase::weight);
  }
  size_t stages = std::min<size_t>(problem.machine.devices(), blocks);
  std::vector<double> seconds;
  for (const StageTimes &time : blockTimes)
    seconds.push_back(time.forward + time.backward + time.weight);
  std::vector<size_t> ends = cutEvenly(seconds, stages);
  auto stageOf = [&](size_t block) {
    return llvm::upper_bound(ends, block) - ends.begin();
  };
  times.assign(stages, {0, 0, 0});
  for (auto [block, time] : llvm::enumerate(blockTimes)) {
    StageTimes &stage = times[stageOf(block)];
    stage.forward += time.forward;
    stage.backward += time.backward;
    stage.weight += time.weight;
  }

  std::vector<Group> groups(stages);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    size_t stage = stageOf(blockOf[i]);
    tiling.places.assign(tiling.tiles(), problem.machine.place(stage));
    if (tiling.degrees[sampleDimension] == batches)
      groups[stage].layers.push_back(layers[i].name);
  }
  Plan made = planOf(problem, tilings, "pipeline");
  if (batches == 1)
    return made; // data flow alone is the order
  std::string prefix = "stage";
  while (llvm::any_of(layers, [&](const LayerGraph::Layer &layer) {
    return llvm::StringRef(layer.name).starts_with(prefix);
  }))
    prefix = "pipeline " + prefix;
  for (auto [stage, group] : llvm::enumerate(groups)) {
    group.name = prefix + std::to_string(stage);
    LaneOrder order{problem.machine.place(stage), {}};
    for (Turn turn : turnsOf(schedule, stage, stages, batches))
      order.tasks.push_back({group.name, turn.batch, turn.phase});
    made.order.push_back(order);
  }
  made.groups = std::move(groups);
  made.strategy +=
      llvm::formatv(": {0}, {1} micro-batches", schedule.name, batches);
  return made;
}

Plan lwcc::plan::solvePipeline(const Problem &problem) {
  Stages stages(problem);
  Plan best;
  double least = never;
  int64_t batches = 1;
  auto consider = [&](const PipelineSchedule &schedule, int64_t count) {
    Plan plan = stages.plan(schedule, count);
    double step = stages.step(plan, schedule, count);
    if (!best.layers.empty() && step >= least)
      return;
    best = std::move(plan);
    least = step;
    batches = count;
  };
  const PipelineSchedule *asked = findPipelineSchedule(problem.search.schedule);
  const PipelineSchedule &first =
      asked ? *asked : *findPipelineSchedule("1f1b");
  const int64_t most = stages.most();
  if (problem.search.microBatches > 0)
    consider(first, std::min(most, problem.search.microBatches));
  else
    for (int64_t count = 1; count <= std::min<int64_t>(most, 32); count *= 2)
      consider(first, count);
  if (!asked && batches > 1)
    for (const PipelineSchedule &schedule : pipelineSchedules())
      if (schedule.name != first.name)
        consider(schedule, batches);
  auto normalized =
      llvm::find_if(problem.graph.layers, [](const LayerGraph::Layer &layer) {
        return layer.needsAllSamples;
      });
  if (normalized != problem.graph.layers.end())
    best.warning = "the pipeline has one micro-batch: layer '" +
                   normalized->name + "' needs statistics of all samples";
  return best;
}

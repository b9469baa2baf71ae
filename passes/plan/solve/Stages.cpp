//===- Stages.cpp - Which layers make a stage of a pipeline ---------------===//
//
// The strategy `pipeline`: the model's layers, in its order, are cut into as
// many stages as there are devices, such that the slowest stage takes as little
// as possible (by dynamic programming, exact). Layers without a forward pass of
// their own go with the layer whose result they read. What links and copies
// take is not looked at here: of all numbers of micro-batches and all schedules
// the most promising by PipelineOrder.h's step, which is a bound, are made
// programs of, and that with the shortest step is taken. Where making programs
// would take too long, the bound decides.
//
// A layer that normalizes groups of samples needs each of them at once: a
// micro-batch has whole groups. One group, of all samples, is one micro-batch.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/PipelineOrder.h"
#include "passes/plan/solve/Solvers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <numeric>
#include <optional>

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

  /// How many micro-batches there may be at most.
  int64_t most() const {
    int64_t most = std::numeric_limits<int64_t>::max();
    for (const LayerGraph::Layer &layer : layers) {
      if (layer.sampleGroups > 0)
        most = std::min(most, layer.sampleGroups);
      if (layer.extents[sampleDimension] > 1)
        most = std::min(most, layer.extents[sampleDimension]);
    }
    return most;
  }
  /// Whether so many micro-batches have whole groups of samples.
  bool haveWholeGroups(int64_t batches) const {
    return llvm::all_of(layers, [&](const LayerGraph::Layer &layer) {
      return layer.sampleGroups % batches == 0;
    });
  }
  /// The numbers of micro-batches that are worth a try: powers of two up to 32,
  /// and one group each.
  std::vector<int64_t> counts() const {
    constexpr int64_t limit = 32;
    std::vector<int64_t> counts;
    for (int64_t count = 1; count <= std::min(most(), limit); count *= 2)
      counts.push_back(count);
    const bool grouped = llvm::any_of(
        layers, [](const auto &layer) { return layer.sampleGroups > 0; });
    if (grouped && most() <= limit && most() != counts.back())
      counts.push_back(most());
    llvm::erase_if(counts,
                   [&](int64_t count) { return !haveWholeGroups(count); });
    return counts;
  }

  /// The model in stages, for so many micro-batches.
  struct Cut {
    int64_t batches = 1;
    Tilings tilings;
    std::vector<Group> groups;     ///< of each stage: layers in micro-batches
    std::vector<StageTimes> times; ///< of each stage
  };
  Cut cut(int64_t batches);
  Plan plan(const Cut &cut, const PipelineSchedule &schedule) const;

private:
  const Problem &problem;
  const std::vector<LayerGraph::Layer> &layers;
  Timing timing;
  std::vector<size_t> blockOf; ///< of each layer
  size_t blocks = 0;
};
} // namespace

Stages::Cut Stages::cut(int64_t batches) {
  Cut made;
  made.batches = batches;
  Tilings &tilings = made.tilings;
  tilings.resize(layers.size());
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
  made.times.assign(stages, {0, 0, 0});
  for (auto [block, time] : llvm::enumerate(blockTimes)) {
    StageTimes &stage = made.times[stageOf(block)];
    stage.forward += time.forward;
    stage.backward += time.backward;
    stage.weight += time.weight;
  }

  made.groups.resize(stages);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    size_t stage = stageOf(blockOf[i]);
    tiling.places.assign(tiling.tiles(), problem.machine.place(stage));
    if (tiling.degrees[sampleDimension] == batches)
      made.groups[stage].layers.push_back(layers[i].name);
  }
  return made;
}

Plan Stages::plan(const Cut &cut, const PipelineSchedule &schedule) const {
  Plan made = planOf(problem, cut.tilings, "pipeline");
  if (cut.batches == 1)
    return made; // data flow alone is the order
  std::string prefix = "stage";
  while (llvm::any_of(layers, [&](const LayerGraph::Layer &layer) {
    return llvm::StringRef(layer.name).starts_with(prefix);
  }))
    prefix = "pipeline " + prefix;
  made.groups = cut.groups;
  const size_t stages = cut.groups.size();
  for (auto [stage, group] : llvm::enumerate(made.groups)) {
    group.name = prefix + std::to_string(stage);
    LaneOrder order{problem.machine.place(stage), {}};
    for (Turn turn : turnsOf(schedule, stage, stages, cut.batches))
      order.tasks.push_back({group.name, turn.batch, turn.phase});
    made.order.push_back(order);
  }
  made.strategy +=
      llvm::formatv(": {0}, {1} micro-batches", schedule.name, cut.batches);
  return made;
}

namespace {
/// A way to run a model as a pipeline.
struct Way {
  size_t cut; ///< its number
  const PipelineSchedule *schedule;
  double bound; ///< seconds of a step if transfers take no time
};
} // namespace

/// The quickest pipeline whose step takes less than `atMost` seconds. Programs
/// are made of the ways with the smallest bounds, as long as a bound leaves
/// hope, and of at most `finalists`.
static std::optional<Plan>
quickestOf(const Problem &problem, double atMost, bool needsBatches,
           llvm::function_ref<bool(const Tilings &)> fits) {
  constexpr size_t finalists = 12;
  Stages stages(problem);
  const int64_t most = stages.most();
  if (needsBatches && most == 1)
    return std::nullopt;
  std::vector<Stages::Cut> cuts;
  if (problem.search.microBatches > 0)
    cuts.push_back(stages.cut(std::min(most, problem.search.microBatches)));
  else
    for (int64_t count : stages.counts())
      cuts.push_back(stages.cut(count));
  const PipelineSchedule *asked = findPipelineSchedule(problem.search.schedule);
  std::vector<Way> ways;
  for (auto [i, cut] : llvm::enumerate(cuts))
    for (const PipelineSchedule &schedule :
         asked ? llvm::ArrayRef(*asked) : pipelineSchedules()) {
      ways.push_back(
          {i, &schedule, stepOf(schedule, cut.times, cut.batches).length});
      if (cut.batches == 1)
        break; // all schedules are alike
    }
  llvm::stable_sort(
      ways, [](const Way &a, const Way &b) { return a.bound < b.bound; });
  if (!problem.programStep)
    ways.resize(1);
  std::optional<Plan> best;
  for (const Way &way : llvm::ArrayRef(ways).take_front(finalists)) {
    if (way.bound >= atMost)
      break;
    if (fits && !fits(cuts[way.cut].tilings))
      continue;
    Plan plan = stages.plan(cuts[way.cut], *way.schedule);
    double step = problem.programStep ? problem.programStep(plan) : way.bound;
    if (step >= atMost)
      continue;
    best = std::move(plan);
    atMost = step;
  }
  return best;
}

std::optional<Plan>
lwcc::plan::solvePipeline(const Problem &problem, double atMost,
                          llvm::function_ref<bool(const Tilings &)> fits) {
  return quickestOf(problem, atMost, /*needsBatches=*/true, fits);
}

Plan lwcc::plan::solvePipeline(const Problem &problem) {
  Plan best = *quickestOf(problem, never, /*needsBatches=*/false, nullptr);
  auto normalized =
      llvm::find_if(problem.graph.layers, [](const LayerGraph::Layer &layer) {
        return layer.sampleGroups == 1;
      });
  if (normalized != problem.graph.layers.end())
    best.warning = "the pipeline has one micro-batch: layer '" +
                   normalized->name +
                   "' needs statistics of all samples; --bn=group:G "
                   "normalizes groups of G samples";
  return best;
}

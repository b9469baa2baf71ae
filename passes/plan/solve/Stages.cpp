//===- Stages.cpp - The strategy pipeline -----------------------*- C++ -*-===//
//
// The strategy `pipeline`: states the model as a StageProblem.h, for each
// number of micro-batches and each cap of stashes, and makes plans of the
// answers. Layers that take no time forward, and those that only go over what
// another one makes, go with the layer that they read; then cheap neighbours
// are joined until few blocks are left.
//
// Of all numbers of micro-batches and all schedules the most promising by
// PipelineOrder.h's step are made programs of, and that with the shortest step
// is taken. Where making programs would take too long, that step decides.
//
// A layer that normalizes groups of samples needs each of them at once: a
// micro-batch has whole groups. One group, of all samples, is one micro-batch.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/PipelineOrder.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/StageProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <map>
#include <optional>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

static constexpr size_t sampleDimension = 0;
static constexpr double never = std::numeric_limits<double>::infinity();

/// The link between two devices that are as far apart as any.
static Link farthestLink(const Machine &machine) {
  Link link{never, 0};
  for (const LinkLevel &level : machine.links())
    if (level.groupOf(0) != level.groupOf(machine.devices() - 1)) {
      link.bandwidth = std::min(link.bandwidth, level.link.bandwidth);
      link.latency = std::max(link.latency, level.link.latency);
    }
  return link;
}

namespace {
/// A model as a pipeline.
class Stages {
public:
  explicit Stages(const Problem &problem)
      : problem(problem), layers(problem.graph.layers), timing(problem) {
    makeBlocks();
  }

  /// How many micro-batches there may be at most.
  int64_t most() const {
    int64_t most = samples();
    for (const LayerGraph::Layer &layer : layers)
      if (layer.sampleGroups > 0)
        most = std::min(most, layer.sampleGroups);
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
    Pipeline pipeline;
    std::vector<StageCut::Stage> stages; ///< of blocks
    std::vector<int64_t> firstDevices;   ///< of each stage
  };
  /// None if there are too few blocks, or if nothing fits into `memory` bytes.
  std::optional<Cut> cut(int64_t batches, const PipelineSchedule &schedule,
                         double memory);
  Plan plan(const Cut &cut, const PipelineSchedule &schedule) const;

private:
  const Problem &problem;
  const std::vector<LayerGraph::Layer> &layers;
  Timing timing;
  std::vector<size_t> blockOf; ///< of each layer
  size_t blocks = 0;
  std::map<int64_t, StageProblem> stated; ///< by micro-batches
  /// By micro-batches, chunks and stashes.
  std::map<std::vector<int64_t>, std::optional<StageCut>> solved;

  void makeBlocks();
  const StageProblem &state(int64_t batches);
  double forwardOf(size_t layer) {
    return static_cast<double>(timing.layer(static_cast<int>(layer), Tiling())
                                   ->busy(Phase::forward)[0]);
  }
  /// The fewest samples of a layer that has several.
  int64_t samples() const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const LayerGraph::Layer &layer : layers)
      if (layer.extents[sampleDimension] > 1)
        least = std::min(least, layer.extents[sampleDimension]);
    return least;
  }
  /// Calls `visit` with each tensor that a forward pass makes and others read,
  /// and with the layers that do.
  void forEachTensor(
      llvm::function_ref<void(int tensor, const std::vector<int> &readers)>
          visit) const {
    for (auto [t, tensor] : llvm::enumerate(problem.graph.tensors)) {
      std::vector<int> readers;
      for (auto [reader, phase] :
           llvm::zip_equal(tensor.consumers, tensor.needed))
        if (phase == Phase::forward && reader != tensor.producer)
          readers.push_back(reader);
      if (tensor.made == Phase::forward && !readers.empty())
        visit(static_cast<int>(t), readers);
    }
  }
};
} // namespace

void Stages::makeBlocks() {
  std::vector<std::vector<int>> before(layers.size()); // layers that are read
  forEachTensor([&](int tensor, const std::vector<int> &readers) {
    for (int reader : readers)
      before[reader].push_back(problem.graph.tensors[tensor].producer);
  });
  // A layer may go with the last block that it reads: then no block reads a
  // later one.
  for (auto [i, layer] : llvm::enumerate(layers)) {
    std::optional<size_t> last;
    const bool isIdle = layer.producer >= 0 && forwardOf(i) == 0;
    if (isIdle)
      last = blockOf[layer.producer];
    for (int from : before[i])
      last = std::max(last.value_or(0), blockOf[from]);
    bool goes = last && (layer.leader >= 0 || isIdle);
    blockOf.push_back(goes ? *last : blocks++);
  }
  // Joins the cheapest block that is alone behind another one to that, as long
  // as there are too many.
  constexpr size_t fewBlocks = 40;
  std::vector<double> costs(blocks, 0);
  for (size_t i = 0; i < layers.size(); ++i)
    costs[blockOf[i]] += forwardOf(i);
  std::set<size_t> left;
  for (size_t block = 0; block < blocks; ++block)
    left.insert(block);
  const size_t enough =
      std::max<size_t>(fewBlocks, 2 * problem.machine.devices());
  while (left.size() > enough) {
    std::map<size_t, std::set<size_t>> in, out;
    for (size_t i = 0; i < layers.size(); ++i)
      for (int from : before[i])
        if (blockOf[from] != blockOf[i]) {
          in[blockOf[i]].insert(blockOf[from]);
          out[blockOf[from]].insert(blockOf[i]);
        }
    double least = never;
    std::pair<size_t, size_t> join;
    for (size_t block : left)
      if (in[block].size() == 1 && out[*in[block].begin()].size() == 1)
        if (double sum = costs[block] + costs[*in[block].begin()]; sum < least)
          least = sum, join = {*in[block].begin(), block};
    if (least == never)
      break;
    llvm::replace(blockOf, join.second, join.first);
    costs[join.first] += costs[join.second];
    left.erase(join.second);
  }
  std::vector<size_t> numbers(left.begin(), left.end());
  for (size_t &block : blockOf)
    block = llvm::lower_bound(numbers, block) - numbers.begin();
  blocks = numbers.size();
}

/// The blocks and what goes between them, without what depends on a schedule.
const StageProblem &Stages::state(int64_t batches) {
  auto [known, isNew] = stated.try_emplace(batches);
  StageProblem &made = known->second;
  if (!isNew)
    return made;
  const auto count = static_cast<double>(batches);
  made.batches = batches;
  made.devices = problem.machine.devices();
  made.mostReplicas = std::clamp<int64_t>(samples() / batches, 1, made.devices);
  Link link = farthestLink(problem.machine);
  made.bandwidth = link.bandwidth;
  made.latency = link.latency;
  made.blocks.resize(blocks);
  std::vector<double> sizes(problem.graph.tensors.size(), 0); // in a step
  for (auto [i, layer] : llvm::enumerate(layers)) {
    const int number = static_cast<int>(i);
    StageProblem::Block &block = made.blocks[blockOf[i]];
    block.times.resize(made.mostReplicas, {0, 0, 0});
    LayerTiles whole = problem.graph.tiles(number, Tiling());
    for (auto [tensor, regions] : llvm::zip_equal(layer.made, whole.made)) {
      const Tensor &each = problem.graph.tensors[tensor];
      if (regions[0])
        sizes[tensor] = tiling::volume(*regions[0]) *
                        static_cast<double>(each.elementBytes);
      if (each.made == Phase::forward)
        block.activations += sizes[tensor] / count;
    }
    for (auto [parameter, regions] :
         llvm::zip_equal(layer.params, whole.params))
      if (regions[0]) {
        double elements = tiling::volume(*regions[0]);
        double bytes = elements * static_cast<double>(parameter.elementBytes);
        block.exchanged += bytes;
        // Values, the sum of gradients and those of a micro-batch beside it.
        block.held +=
            3 * bytes + elements * static_cast<double>(parameter.stateBytes);
      }
    for (auto [d, times] : llvm::enumerate(block.times)) {
      Tiling tiling;
      const int64_t tiles = static_cast<int64_t>(d + 1) * batches;
      if (layer.extents[sampleDimension] >= tiles)
        tiling.degrees[sampleDimension] = tiles;
      tiling.places.assign(tiling.tiles(), problem.machine.place(0));
      std::shared_ptr<const TimedLayer> timed = timing.layer(number, tiling);
      auto each = [&](Phase phase) {
        return static_cast<double>(timed->busy(phase)[0]) / ticksPerSecond /
               static_cast<double>(tiling.tiles() == 1 ? batches : tiles);
      };
      times.forward += each(Phase::forward);
      times.backward += each(Phase::backward);
      times.weight += each(Phase::weight);
    }
  }
  forEachTensor([&](int tensor, const std::vector<int> &readers) {
    std::set<int> consumers;
    const auto from =
        static_cast<int>(blockOf[problem.graph.tensors[tensor].producer]);
    for (int reader : readers)
      if (static_cast<int>(blockOf[reader]) != from)
        consumers.insert(static_cast<int>(blockOf[reader]));
    if (!consumers.empty())
      made.tensors.push_back(
          {from, {consumers.begin(), consumers.end()}, sizes[tensor] / count});
  });
  return made;
}

std::optional<Stages::Cut>
Stages::cut(int64_t batches, const PipelineSchedule &schedule, double memory) {
  StageProblem asked = state(batches);
  const int64_t devices = asked.devices, chunks = schedule.chunks;
  // Chunks are stages on a part of a device each.
  asked.memory = memory / static_cast<double>(chunks);
  asked.leastStages = std::min<int64_t>(devices * chunks, 2);
  if (problem.search.stages > 0)
    asked.leastStages = asked.mostStages = problem.search.stages;
  if (chunks > 1) {
    asked.leastStages = asked.mostStages = asked.devices = devices * chunks;
    asked.mostReplicas = 1;
    asked.splits = false;
  }
  if (static_cast<size_t>(asked.leastStages) > blocks) {
    if (chunks > 1)
      return std::nullopt;
    asked.leastStages = 1;
    asked.mostStages = std::max<int64_t>(1, static_cast<int64_t>(blocks));
  }
  asked.stashes = [&](int64_t depth) {
    // Of a device with chunks the first one's cap, which none exceeds.
    int64_t cap = schedule.cap(chunks > 1 ? devices : depth, devices, batches);
    return static_cast<double>(std::min(cap, batches * chunks)) /
           static_cast<double>(chunks);
  };
  std::vector<int64_t> key{batches, chunks, memory < never};
  for (int64_t depth = 1; depth <= devices; ++depth)
    key.push_back(static_cast<int64_t>(asked.stashes(depth) *
                                       static_cast<double>(chunks)));
  auto [known, isNew] = solved.try_emplace(key);
  if (isNew) {
    known->second = solveStages(asked);
    // Branches beside each other may be all there is.
    if (!known->second && chunks == 1 && asked.leastStages > 1) {
      asked.leastStages = 1;
      known->second = solveStages(asked);
    }
  }
  if (!known->second)
    return std::nullopt;

  Cut made;
  made.stages = known->second->stages;
  Pipeline &pipeline = made.pipeline;
  pipeline.batches = batches;
  std::vector<size_t> stageOf(blocks, 0);
  int64_t used = 0;
  for (auto [s, stage] : llvm::enumerate(made.stages)) {
    Pipeline::Stage &each = pipeline.stages.emplace_back();
    each.times = {0, 0, 0};
    for (int block : stage.blocks) {
      const StageTimes &times = asked.blocks[block].times[stage.devices - 1];
      each.times.forward += times.forward;
      each.times.backward += times.backward;
      each.times.weight += times.weight;
      stageOf[block] = s;
    }
    const auto number = static_cast<int64_t>(s);
    each.worker = chunks > 1 ? schedule.workerOf(number, devices) : number;
    made.firstDevices.push_back(chunks > 1 ? each.worker : used);
    used += stage.devices;
  }
  pipeline.workers =
      chunks > 1 ? devices : static_cast<int64_t>(made.stages.size());
  for (const StageProblem::Tensor &tensor : asked.tensors) {
    const size_t from = stageOf[tensor.producer];
    for (int consumer : tensor.consumers) {
      const size_t to = stageOf[consumer];
      std::vector<int64_t> &before = pipeline.stages[to].before;
      if (from == to || llvm::is_contained(before, from))
        continue;
      before.push_back(static_cast<int64_t>(from));
      double &transfer = pipeline.stages[from].times.transfer;
      transfer = std::max(
          transfer,
          asked.latency + tensor.bytes / asked.bandwidth /
                              static_cast<double>(made.stages[from].devices));
    }
  }
  return made;
}

/// Cuts samples into micro-batches, as a tiling does, and each into as many
/// parts as there are devices. Empty if all parts are equal.
static std::vector<int64_t> sizesOf(int64_t samples, int64_t batches,
                                    int64_t devices) {
  std::vector<int64_t> sizes;
  if (samples % (batches * devices) == 0 || devices == 1)
    return sizes;
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t size = samples / batches + (batch < samples % batches);
    for (int64_t d = 0; d < devices; ++d)
      sizes.push_back(size / devices + (d < size % devices));
  }
  return sizes;
}

Plan Stages::plan(const Cut &cut, const PipelineSchedule &schedule) const {
  const int64_t batches = cut.pipeline.batches;
  std::vector<size_t> stageOf(blocks, 0);
  for (auto [s, stage] : llvm::enumerate(cut.stages))
    for (int block : stage.blocks)
      stageOf[block] = s;
  std::string prefix = "stage";
  while (llvm::any_of(layers, [&](const LayerGraph::Layer &layer) {
    return llvm::StringRef(layer.name).starts_with(prefix);
  }))
    prefix = "pipeline " + prefix;
  Tilings tilings(layers.size());
  std::vector<Group> groups(cut.stages.size());
  for (auto [s, group] : llvm::enumerate(groups))
    group.name = prefix + std::to_string(s);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    const size_t stage = stageOf[blockOf[i]];
    const int64_t devices = cut.stages[stage].devices;
    const int64_t tiles = devices * batches;
    if (layers[i].extents[sampleDimension] >= tiles) {
      tiling.degrees[sampleDimension] = tiles;
      tiling.sizes[sampleDimension] =
          sizesOf(layers[i].extents[sampleDimension], batches, devices);
      groups[stage].layers.push_back(layers[i].name);
    }
    tiling.places.clear();
    for (int64_t tile = 0; tile < tiling.tiles(); ++tile)
      tiling.places.push_back(
          problem.machine.place(cut.firstDevices[stage] + tile % devices));
  }
  Plan made = planOf(problem, tilings, "pipeline");
  if (batches == 1)
    return made; // data flow alone is the order
  for (const std::vector<Turn> &turns : turnsOf(schedule, cut.pipeline)) {
    if (turns.empty())
      continue;
    const int64_t first = turns.front().stage;
    for (int64_t d = 0; d < cut.stages[first].devices; ++d) {
      LaneOrder order{problem.machine.place(cut.firstDevices[first] + d), {}};
      for (const Turn &turn : turns)
        order.tasks.push_back(
            {groups[turn.stage].name, turn.batch, turn.phase});
      made.order.push_back(order);
    }
  }
  made.groups = std::move(groups);
  made.strategy +=
      llvm::formatv(": {0}, {1} micro-batches", schedule.name, batches);
  return made;
}

namespace {
/// A way to run a model as a pipeline.
struct Way {
  Stages::Cut cut;
  const PipelineSchedule *schedule;
  double step; ///< seconds, by PipelineOrder.h
};
} // namespace

/// The quickest pipeline whose step takes less than `atMost` seconds and whose
/// stages fit into `memory` bytes. Programs are made of the `finalists` that
/// promise most, as long as there is hope.
static std::optional<Plan> quickestOf(const Problem &problem, double atMost,
                                      bool needsBatches, double memory) {
  constexpr size_t finalists = 12;
  std::vector<Plan> known; // schedules of few micro-batches may be alike
  Stages stages(problem);
  const int64_t most = stages.most();
  if (needsBatches && most == 1)
    return std::nullopt;
  const PipelineSchedule *asked = findPipelineSchedule(problem.search.schedule);
  std::vector<Way> ways;
  const int64_t asks = problem.search.microBatches;
  for (int64_t count :
       asks > 0 ? std::vector<int64_t>{std::min(most, asks)} : stages.counts())
    for (const PipelineSchedule &schedule :
         asked ? llvm::ArrayRef(*asked) : pipelineSchedules()) {
      if (std::optional<Stages::Cut> cut = stages.cut(count, schedule, memory))
        ways.push_back(
            {*cut, &schedule, stepOf(schedule, cut->pipeline).length});
      if (count == 1)
        break; // all schedules are alike
    }
  llvm::stable_sort(ways,
                    [](const Way &a, const Way &b) { return a.step < b.step; });
  if (!problem.programStep && !ways.empty())
    ways.resize(1);
  std::optional<Plan> best;
  for (const Way &way : llvm::ArrayRef(ways).take_front(finalists)) {
    if (way.step >= atMost)
      break;
    Plan plan = stages.plan(way.cut, *way.schedule);
    if (llvm::any_of(known, [&](const Plan &other) {
          return other.layers == plan.layers && other.order == plan.order;
        }))
      continue;
    known.push_back(plan);
    double step = problem.programStep ? problem.programStep(plan) : way.step;
    if (best || needsBatches ? step >= atMost : step > atMost)
      continue;
    best = std::move(plan);
    atMost = step;
  }
  return best;
}

std::optional<Plan> lwcc::plan::solveBranches(const Problem &problem) {
  Stages stages(problem);
  const PipelineSchedule &any = pipelineSchedules().front();
  std::optional<Stages::Cut> cut =
      stages.cut(1, any, static_cast<double>(problem.machine.device.memory));
  return cut ? std::optional(stages.plan(*cut, any)) : std::nullopt;
}

std::optional<Plan> lwcc::plan::solvePipeline(const Problem &problem,
                                              double atMost) {
  return quickestOf(problem, atMost, /*needsBatches=*/true,
                    static_cast<double>(problem.machine.device.memory));
}

Plan lwcc::plan::solvePipeline(const Problem &problem) {
  std::optional<Plan> best =
      quickestOf(problem, never, /*needsBatches=*/false,
                 static_cast<double>(problem.machine.device.memory));
  if (!best) // the caller warns of what does not fit
    best = quickestOf(problem, never, /*needsBatches=*/false, never);
  if (!best) {
    Problem other = problem;
    other.search.schedule.clear();
    best = quickestOf(other, never, /*needsBatches=*/false, never);
    assert(best && "with memory enough, one stage is always possible");
    best->warning = "the model has too few layers for schedule '" +
                    problem.search.schedule + "' on " +
                    std::to_string(problem.machine.devices()) +
                    " devices, which needs two stages on each: another "
                    "schedule is taken";
  }
  auto normalized =
      llvm::find_if(problem.graph.layers, [](const LayerGraph::Layer &layer) {
        return layer.sampleGroups == 1;
      });
  if (normalized != problem.graph.layers.end())
    best->warning = "the pipeline has one micro-batch: layer '" +
                    normalized->name +
                    "' needs statistics of all samples; --bn=group:G "
                    "normalizes groups of G samples";
  return *best;
}

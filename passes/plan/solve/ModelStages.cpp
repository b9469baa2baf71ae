//===- ModelStages.cpp - A model as stages of a pipeline ------------------===//

#include "passes/plan/solve/ModelStages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace lwcc;
using namespace lwcc::plan;

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

double lwcc::plan::secondsOfSum(const Setting &setting, const LayerTiles &tiles,
                                size_t tile) {
  double seconds = 0;
  for (const LayerTiles::Regions &regions : tiles.params)
    if (regions[tile]) {
      Work sum;
      sum.bytes = 3 * sizeof(float) * tiling::volume(*regions[tile]);
      seconds += setting.costs.answer(sum).seconds;
    }
  return seconds;
}

void ModelStages::makeBlocks() {
  std::vector<std::vector<int>> before(layers.size()); // layers that are read
  forEachTensor([&](int tensor, const std::vector<int> &readers) {
    for (int reader : readers)
      before[reader].push_back(problem.graph.tensors[tensor].producer);
  });
  // A layer may go with the last block that it reads: then no block reads a
  // later one. What computes from parameters alone, such as a weight that an
  // exporter joins of several, makes no stage: it goes with its first reader.
  constexpr size_t ofReader = std::numeric_limits<size_t>::max();
  for (auto [i, layer] : llvm::enumerate(layers)) {
    if (layer.isOfParameters) {
      blockOf.push_back(ofReader);
      continue;
    }
    std::optional<size_t> last;
    const bool isIdle = layer.producer >= 0 && forwardOf(i) == 0;
    if (isIdle && !layers[layer.producer].isOfParameters)
      last = blockOf[layer.producer];
    for (int from : before[i])
      if (!layers[from].isOfParameters)
        last = std::max(last.value_or(0), blockOf[from]);
    bool goes = last && (layer.leader >= 0 || isIdle);
    blockOf.push_back(goes ? *last : blocks++);
  }
  for (size_t i = layers.size(); i-- > 0;)
    for (int from : before[i])
      if (layers[from].isOfParameters)
        blockOf[from] = std::min(blockOf[from], blockOf[i]);
  // What the forward pass does not read is a block of its own.
  for (size_t &block : blockOf)
    if (block == ofReader)
      block = blocks++;
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
const StageProblem &ModelStages::state(int64_t batches) {
  auto [known, isNew] = stated.try_emplace(batches);
  StageProblem &made = known->second;
  if (!isNew)
    return made;
  const auto count = static_cast<double>(batches);
  made.batches = batches;
  made.devices = problem.machine.devices();
  made.mostReplicas = std::clamp<int64_t>(samples() / batches, 1, made.devices);
  constexpr int64_t mostUnits = 64;
  made.unit = (made.mostReplicas + mostUnits - 1) / mostUnits;
  Link link = farthestLink(problem.machine);
  made.bandwidth = link.bandwidth;
  made.latency = link.latency;
  made.blocks.resize(blocks);
  std::vector<double> sizes(problem.graph.tensors.size(), 0); // in a step
  for (auto [i, layer] : llvm::enumerate(layers)) {
    const int number = static_cast<int>(i);
    StageProblem::Block &block = made.blocks[blockOf[i]];
    block.times.resize(made.mostReplicas / made.unit, {0, 0, 0});
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
    const double sum = secondsOfSum(problem, whole, 0) * (count - 1) / count;
    for (auto [d, times] : llvm::enumerate(block.times)) {
      Tiling tiling;
      const int64_t tiles = static_cast<int64_t>(d + 1) * made.unit * batches;
      if (samplesOf(layer) >= tiles)
        tiling.degrees[alongSamples] = tiles;
      tiling.places.assign(tiling.tiles(), problem.machine.place(0));
      const TimedLayer &timed = timing.layer(number, tiling);
      auto each = [&](Phase phase) {
        return static_cast<double>(timed.busy(phase)[0]) / ticksPerSecond /
               static_cast<double>(tiling.tiles() == 1 ? batches : tiles);
      };
      times.forward += each(Phase::forward);
      times.backward += each(Phase::backward);
      times.weight += each(Phase::weight) + sum;
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

std::optional<ModelStages::Cut>
ModelStages::cut(int64_t batches, const PipelineSchedule &schedule,
                 double memory) {
  StageProblem asked = state(batches);
  const int64_t devices = asked.devices, chunks = schedule.chunks;
  // Chunks are stages on a part of a device each.
  asked.memory = memory / static_cast<double>(chunks);
  asked.leastStages = std::min<int64_t>(devices * chunks, 2);
  if (problem.search.stages > 0)
    asked.leastStages = asked.mostStages = problem.search.stages;
  if (chunks > 1) {
    if (asked.unit > 1) // there are times of whole units only
      return std::nullopt;
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
      const StageTimes &times =
          asked.blocks[block].times[stage.devices / asked.unit - 1];
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
    std::set<size_t> readers;
    for (int consumer : tensor.consumers)
      if (size_t to = stageOf[consumer]; to != from)
        readers.insert(to);
    for (size_t to : readers) {
      std::vector<int64_t> &before = pipeline.stages[to].before;
      if (!llvm::is_contained(before, from))
        before.push_back(static_cast<int64_t>(from));
      pipeline.stages[from].times.transfer +=
          asked.latency + tensor.bytes / asked.bandwidth /
                              static_cast<double>(made.stages[from].devices);
    }
  }
  return made;
}

Plan ModelStages::plan(const Cut &cut, const PipelineSchedule &schedule) const {
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
    if (samplesOf(layers[i]) >= tiles) {
      tiling.degrees[alongSamples] = tiles;
      tiling.sizes[alongSamples] =
          sizesOfSamples(problem.graph, layers[i], batches, devices);
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
        if (!groups[turn.stage].layers.empty())
          order.tasks.push_back(
              {groups[turn.stage].name, turn.batch, turn.phase});
      if (!order.tasks.empty())
        made.order.push_back(order);
    }
  }
  // A stage of layers that are not cut by samples does its work when it can.
  llvm::erase_if(groups,
                 [](const Group &group) { return group.layers.empty(); });
  made.groups = std::move(groups);
  made.strategy +=
      llvm::formatv(": {0}, {1} micro-batches", schedule.name, batches);
  return made;
}

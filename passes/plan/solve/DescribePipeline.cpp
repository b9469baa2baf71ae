//===- DescribePipeline.cpp - What --explain tells of a pipeline ----------===//

#include "passes/plan/solve/DescribePipeline.h"
#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/ModelStages.h"
#include "passes/plan/solve/PipelineOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
/// A plan's groups as stages. A stage on several devices is told by one lane,
/// since all of them take the same turns.
struct Described {
  Pipeline pipeline;
  Turns turns;
  bool weightApart = false;
  std::vector<const LaneOrder *> lanes; ///< of each worker, one
  std::vector<int64_t> lanesOf;         ///< of each stage, how many
  std::vector<double> updates;          ///< of each worker, seconds
  bool isWhole = true; ///< all layers that take time are in stages

  int64_t forwardTurns(int64_t stage) const {
    return llvm::count_if(
        turns[pipeline.stages[stage].worker], [&](const Turn &turn) {
          return turn.stage == stage && turn.phase == Phase::forward;
        });
  }
  /// The turns as they take place.
  PipelineStep step() const { return play(pipeline, turns, weightApart); }
  /// Whether that is how long a step takes: the turns are all of it, and all
  /// stages have as many micro-batches.
  bool tellsStep() const {
    if (!isWhole)
      return false;
    for (size_t s = 0; s < pipeline.stages.size(); ++s)
      if (forwardTurns(static_cast<int64_t>(s)) != pipeline.batches)
        return false;
    return true;
  }
};
} // namespace

/// The order that a worker is told by; null for a group that has none.
static const LaneOrder *orderOf(const Plan &plan, const Group &group,
                                int64_t &count) {
  const LaneOrder *first = nullptr;
  for (const LaneOrder &order : plan.order)
    if (llvm::any_of(order.tasks, [&](const Task &task) {
          return task.layer == group.name;
        })) {
      first = first ? first : &order;
      ++count;
    }
  return first;
}

/// How long a device takes to update its parameters once gradients are summed.
/// What devices exchange for that runs beside their last turns, as do updates
/// of what others hold, too.
static double secondsOfUpdate(const TimedLayer &layer, int64_t device) {
  return static_cast<double>(layer[TimedLayer::ownUpdate][device]) /
         ticksPerSecond;
}

/// How long it takes to hand a micro-batch on from each stage. The devices of a
/// stage share its tensors equally.
static void setTransfers(const Setting &setting,
                         llvm::ArrayRef<int64_t> stageOf, Described &made) {
  std::vector<Traffic> traffic(made.pipeline.stages.size(),
                               Traffic(setting.machine));
  auto deviceOf = [&](int64_t stage) {
    return setting.machine.deviceOf(
        made.lanes[made.pipeline.stages[stage].worker]->lane);
  };
  for (const Tensor &tensor : setting.graph.tensors) {
    if (tensor.producer < 0 || tensor.made != Phase::forward)
      continue;
    const int64_t from = stageOf[tensor.producer];
    std::set<int64_t> readers;
    for (int reader : tensor.consumers)
      if (from >= 0 && stageOf[reader] > from)
        readers.insert(stageOf[reader]);
    double bytes = static_cast<double>(tensor.elementBytes);
    for (int64_t extent : tensor.shape)
      bytes *= static_cast<double>(extent);
    std::set<int64_t> devices;
    for (int64_t to : readers) {
      std::vector<int64_t> &before = made.pipeline.stages[to].before;
      if (!llvm::is_contained(before, from))
        before.push_back(from);
      if (deviceOf(to) != deviceOf(from) && devices.insert(deviceOf(to)).second)
        traffic[from].add(deviceOf(from), deviceOf(to),
                          bytes / static_cast<double>(made.pipeline.batches *
                                                      made.lanesOf[from]));
    }
  }
  for (auto [stage, out] : llvm::zip_equal(made.pipeline.stages, traffic))
    stage.times.transfer = out.seconds();
}

static Described describe(const Setting &setting, const Plan &plan) {
  Described made;
  const LayerGraph &graph = setting.graph;
  Timing timing(setting);
  Tilings tilings = tilingsOf(graph, plan);
  std::vector<int64_t> stageOf(graph.layers.size(), -1);
  llvm::StringMap<int64_t> numbers;
  for (const Group &group : plan.groups) {
    int64_t count = 0;
    const LaneOrder *order = orderOf(plan, group, count);
    if (!order)
      continue;
    const auto number = static_cast<int64_t>(made.pipeline.stages.size());
    numbers[group.name] = number;
    Pipeline::Stage &stage = made.pipeline.stages.emplace_back();
    made.lanesOf.push_back(count);
    auto lane = llvm::find(made.lanes, order);
    stage.worker = lane - made.lanes.begin();
    if (lane == made.lanes.end()) {
      made.lanes.push_back(order);
      made.updates.push_back(0);
    }
    stage.times = {0, 0, 0};
    const int64_t device = setting.machine.deviceOf(order->lane);
    for (auto [i, layer] : llvm::enumerate(graph.layers)) {
      if (!llvm::is_contained(group.layers, layer.name))
        continue;
      stageOf[i] = number;
      const auto batches =
          static_cast<double>(llvm::count(tilings[i].places, order->lane));
      if (batches == 0) // a plan file may have it run elsewhere
        continue;
      const TimedLayer &timed = timing.layer(static_cast<int>(i), tilings[i]);
      auto seconds = [&](Phase phase) {
        return static_cast<double>(timed.busy(phase)[device]) / ticksPerSecond /
               batches;
      };
      stage.times.forward += seconds(Phase::forward);
      stage.times.backward += seconds(Phase::backward);
      stage.times.weight +=
          seconds(Phase::weight) +
          secondsOfSum(setting, graph.tiles(static_cast<int>(i), tilings[i]),
                       llvm::find(tilings[i].places, order->lane) -
                           tilings[i].places.begin()) *
              (batches - 1) / batches;
      made.updates[stage.worker] += secondsOfUpdate(timed, device);
    }
  }
  made.pipeline.workers = static_cast<int64_t>(made.lanes.size());
  for (const LaneOrder *lane : made.lanes) {
    std::vector<Turn> &turns = made.turns.emplace_back();
    for (const Task &task : lane->tasks)
      if (auto stage = numbers.find(task.layer);
          stage != numbers.end() && task.tile) {
        turns.push_back({task.phase, *task.tile, stage->second});
        made.weightApart |= task.phase == Phase::weight;
        made.pipeline.batches = std::max(made.pipeline.batches, *task.tile + 1);
      }
  }
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    const TimedLayer &timed = timing.layer(static_cast<int>(i), tilings[i]);
    made.isWhole &= stageOf[i] >= 0 ||
                    llvm::all_of(llvm::ArrayRef(timed.busy(Phase::forward),
                                                setting.machine.devices()),
                                 [](Ticks ticks) { return ticks == 0; });
  }
  setTransfers(setting, stageOf, made);
  return made;
}

/// Two lines for each worker: F, B or W, and below it the last digit of the
/// micro-batch.
static void printTurns(const Described &described, const PipelineStep &step,
                       llvm::raw_ostream &os) {
  constexpr int columns = 96;
  os << llvm::format("timeline by micro-batch, %.4f ms a column:\n",
                     step.length * 1e3 / columns);
  for (auto [lane, turns] : llvm::zip_equal(described.lanes, step.turns)) {
    std::string phases(columns, '.'), batches(columns, ' ');
    for (const PipelineStep::Taken &taken : turns) {
      auto columnOf = [&](double at) {
        return static_cast<int>(at / step.length * columns + 0.5);
      };
      for (int c = columnOf(taken.begin);
           c < std::min(columns, columnOf(taken.end)); ++c) {
        phases[c] = "FBW"[static_cast<size_t>(taken.turn.phase)];
        batches[c] = static_cast<char>('0' + taken.turn.batch % 10);
      }
    }
    os << "  " << llvm::left_justify(lane->lane.text(), 8) << " |" << phases
       << "|\n           |" << batches << "|\n";
  }
}

std::optional<double> lwcc::plan::secondsOfTurns(const Setting &setting,
                                                 const Plan &plan) {
  const Described described = describe(setting, plan);
  const PipelineStep step = described.step();
  if (step.length <= 0 || !described.tellsStep())
    return std::nullopt;
  double seconds = 0;
  for (auto [turns, update] : llvm::zip_equal(step.turns, described.updates))
    seconds =
        std::max(seconds, (turns.empty() ? 0 : turns.back().end) + update);
  return seconds;
}

std::string lwcc::plan::describePipeline(const Setting &setting,
                                         const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Described described = describe(setting, plan);
  PipelineStep step = described.step();
  os << described.pipeline.stages.size() << " stages, "
     << described.pipeline.batches
     << " micro-batches, and the milliseconds of a turn:\n"
        "  stage         lane      turns     forward    backward      weight"
        "  stashes  layers\n";
  size_t number = 0;
  for (const Group &group : plan.groups) {
    int64_t count = 0;
    if (!orderOf(plan, group, count))
      continue;
    const Pipeline::Stage &stage = described.pipeline.stages[number];
    const LaneOrder &lane = *described.lanes[stage.worker];
    const auto turns = llvm::count_if(
        lane.tasks, [&](const Task &task) { return task.layer == group.name; });
    os << "  " << llvm::left_justify(group.name, 12) << "  "
       << llvm::left_justify(lane.lane.text(), 8)
       << llvm::format("%7lld%12.3f%12.3f%12.3f%9lld",
                       static_cast<long long>(turns), stage.times.forward * 1e3,
                       stage.times.backward * 1e3, stage.times.weight * 1e3,
                       static_cast<long long>(step.stageStashes[number]))
       << "  " << group.layers.front();
    if (group.layers.size() > 1)
      os << " and " << group.layers.size() - 1 << " more";
    if (described.lanesOf[number] > 1)
      os << ", on " << described.lanesOf[number] << " devices";
    os << "\n";
    ++number;
  }
  if (step.length <= 0 || !described.tellsStep())
    return text;
  os << "bubbles, of a step of" << llvm::format(" %.3f ms:", step.length * 1e3);
  for (auto [lane, bubble] : llvm::zip_equal(described.lanes, step.bubbles))
    os << " " << lane->lane.text()
       << llvm::format(" %.1f %%", bubble / step.length * 100);
  os << "\n";
  printTurns(described, step, os);
  return text;
}

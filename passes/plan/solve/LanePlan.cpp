//===- LanePlan.cpp - A plan's layers on the lanes of devices -------------===//

#include "passes/plan/solve/LanePlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

static constexpr size_t sampleDimension = 0;
/// What lanes compute; updates run behind the last.
static constexpr std::array<Phase, 3> computedPhases = {
    Phase::forward, Phase::backward, Phase::weight};

LanePlan::LanePlan(const Problem &problem, const CostModel &costs,
                   const Plan &plan, int lanes, Fragments fragments)
    : problem(problem), plan(plan) {
  this->lanes.lanes = lanes;
  this->lanes.devices = static_cast<int>(problem.machine.devices());
  cut(fragments);
  addTasks(costs);
  addDependences();
  addMoves();
}

/// Fragment i of a part stands where the part stood, `lanes` parts for one.
void LanePlan::cut(Fragments fragments) {
  for (auto [layer, planned] :
       llvm::zip_equal(problem.graph.layers, plan.layers)) {
    Tiling &tiling = planned.tiling;
    const int64_t parts = tiling.degrees[sampleDimension] * lanes.lanes;
    bool cuts = fragments == Fragments::ofAll ||
                (fragments == Fragments::ofImages && layer.rank == 4);
    cuts &= tiling.sizes[sampleDimension].empty() &&
            layer.extents[sampleDimension] >= parts &&
            tiling.tiles() * lanes.lanes <= mostTiles;
    isCut.push_back(cuts);
    if (cuts) {
      const std::vector<Place> places = tiling.places;
      const auto inner =
          static_cast<int64_t>(places.size()) / tiling.degrees[sampleDimension];
      tiling.degrees[sampleDimension] = parts;
      tiling.places.clear();
      for (int64_t n = 0; n < parts; ++n)
        for (int64_t i = 0; i < inner; ++i) {
          Place place = places[n / lanes.lanes * inner + i];
          place.lane.number = n % lanes.lanes;
          tiling.places.push_back(place);
        }
    }
    tilings.push_back(tiling);
  }
}

void LanePlan::addTasks(const CostModel &ofDevice) {
  const size_t layers = problem.graph.layers.size();
  const CostModel costs =
      ofDevice.forLane(1.0 / static_cast<double>(lanes.lanes));
  const bool divides = problem.machine.oneProcessor;
  lanes.waking = costs.waking();
  units.resize(layers);
  taskOf.resize(layers);
  for (size_t i = 0; i < layers; ++i) {
    tiles.push_back(problem.graph.tiles(static_cast<int>(i), tilings[i]));
    for (int &unit : units[i])
      unit = lanes.units++;
    if (isCut[i])
      units[i][1] = units[i][2] = units[i][0];
  }
  auto add = [&](size_t layer, size_t phase) {
    const Tiling &tiling = tilings[layer];
    for (auto [t, place] : llvm::enumerate(tiling.places)) {
      LaneTask task;
      task.device = static_cast<int>(problem.machine.deviceOf(place));
      task.unit = units[layer][phase];
      task.shift = static_cast<int>(
          plan.layers[layer]
              .place(static_cast<int64_t>(t), computedPhases[phase])
              .lane.number);
      auto count = [&](const Work &work) {
        CostModel::Answer whole = ofDevice.answer(work);
        CostModel::Answer alone = costs.answer(work);
        task.whole += whole.seconds;
        task.alone += alone.seconds;
        task.processors +=
            divides ? alone.seconds / static_cast<double>(lanes.lanes)
                    : alone.seconds * alone.processors;
        task.memory += whole.seconds * whole.memory;
      };
      for (const Work &work : tiles[layer].work[t])
        if (work.phase == computedPhases[phase])
          count(work);
      // Updates run on the lane of the gradients, if there is but one.
      if (computedPhases[phase] == Phase::weight && t == 0)
        for (auto [parameter, regions] : llvm::zip_equal(
                 problem.graph.layers[layer].params, tiles[layer].params))
          if (regions[0]) {
            Work update;
            update.bytes = tiling::volume(*regions[0]) *
                           static_cast<double>(3 * parameter.elementBytes +
                                               2 * parameter.stateBytes);
            update.key = parameter.update;
            count(update);
          }
      if (!divides && task.alone > 0)
        task.use = {task.processors / task.alone, task.memory / task.alone};
      taskOf[layer][phase].push_back(static_cast<int>(lanes.tasks.size()));
      lanes.tasks.push_back(std::move(task));
    }
  };
  for (size_t i = 0; i < layers; ++i)
    add(i, 0);
  for (size_t i = layers; i-- > 0;) {
    add(i, 1);
    add(i, 2);
  }
}

void LanePlan::addDependences() {
  std::vector<std::set<int>> after(lanes.tasks.size());
  auto need = [&](int task, int before) {
    if (before < task)
      after[task].insert(before);
  };
  for (const auto &phases : taskOf)
    for (size_t t = 0; t < phases[0].size(); ++t) {
      need(phases[1][t], phases[0][t]);
      need(phases[2][t], phases[0][t]);
    }
  auto regionsOf = [&](int tensor, int layer, bool made) {
    const LayerGraph::Layer &described = problem.graph.layers[layer];
    const std::vector<int> &list = made ? described.made : described.read;
    const size_t at = llvm::find(list, tensor) - list.begin();
    return &(made ? tiles[layer].made : tiles[layer].read)[at];
  };
  for (auto [number, tensor] : llvm::enumerate(problem.graph.tensors))
    for (auto [reader, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed)) {
      const LayerTiles::Regions &made =
          *regionsOf(static_cast<int>(number), tensor.producer, true);
      const LayerTiles::Regions &read =
          *regionsOf(static_cast<int>(number), reader, false);
      const auto &makers =
          taskOf[tensor.producer][static_cast<size_t>(tensor.made)];
      const auto &readers = taskOf[reader][static_cast<size_t>(phase)];
      for (auto [m, maker] : llvm::enumerate(makers))
        for (auto [r, task] : llvm::enumerate(readers))
          if (made[m] && read[r] &&
              !tiling::empty(tiling::intersect(*made[m], *read[r])))
            need(task, maker);
    }
  for (auto [task, list] : llvm::zip_equal(lanes.tasks, after))
    task.after.assign(list.begin(), list.end());
}

/// Layers in a row move together, as branches have to: what follows on one lane
/// waits for nothing. And so do the gradients of parameters.
void LanePlan::addMoves() {
  const std::vector<LayerGraph::Layer> &layers = problem.graph.layers;
  std::vector<int> readers(layers.size(), 0);
  for (const LayerGraph::Layer &layer : layers)
    if (layer.producer >= 0)
      ++readers[layer.producer];
  std::vector<std::vector<size_t>> rows;
  std::vector<size_t> rowOf(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    int producer = layers[i].producer;
    bool goesOn = producer >= 0 && readers[producer] == 1;
    rowOf[i] = goesOn ? rowOf[producer] : rows.size();
    if (!goesOn)
      rows.emplace_back();
    rows[rowOf[i]].push_back(i);
  }
  auto add = [&](llvm::ArrayRef<size_t> row, llvm::ArrayRef<size_t> phases) {
    std::set<int> move;
    for (size_t layer : row)
      for (size_t phase : phases)
        if (!isCut[layer])
          move.insert(units[layer][phase]);
    if (move.size() > 1)
      lanes.moves.emplace_back(move.begin(), move.end());
  };
  std::vector<size_t> all(layers.size());
  std::iota(all.begin(), all.end(), 0);
  add(all, {2});
  for (const std::vector<size_t> &row : rows) {
    add(row, {0, 1, 2});
    add(row, {0});
    add(row, {1, 2});
    for (size_t begin = 1; begin < row.size(); ++begin)
      add(llvm::ArrayRef(row).drop_front(begin), {0, 1, 2});
  }
}

Plan LanePlan::planOf(const LaneChoice &choice) const {
  Plan made = plan;
  for (auto [i, layer] : llvm::enumerate(made.layers)) {
    if (isCut[i])
      continue;
    const int64_t forward = choice[units[i][0]];
    for (Place &place : layer.tiling.places)
      place.lane.number = forward;
    for (size_t phase : {1, 2}) {
      bool works = llvm::any_of(taskOf[i][phase], [&](int task) {
        return lanes.tasks[task].alone > 0;
      });
      if (int64_t lane = choice[units[i][phase]]; works && lane != forward)
        layer.lanes[computedPhases[phase]] = lane;
    }
  }
  return made;
}

int64_t lwcc::plan::devicesOf(const Problem &problem, const Plan &plan) {
  std::set<int64_t> devices;
  for (const LayerPlan &layer : plan.layers)
    for (const Place &place : layer.tiling.places)
      devices.insert(problem.machine.deviceOf(place));
  return static_cast<int64_t>(devices.size());
}

int lwcc::plan::lanesOf(const Plan &plan) {
  int64_t last = 0;
  for (const LayerPlan &layer : plan.layers)
    for (int64_t tile = 0; tile < layer.tiling.tiles(); ++tile)
      for (Phase phase : computedPhases)
        last = std::max(last, layer.place(tile, phase).lane.number);
  return static_cast<int>(last) + 1;
}

std::optional<double> lwcc::plan::secondsOfLanes(const Problem &problem,
                                                 const Plan &plan) {
  if (devicesOf(problem, plan) > 1)
    return std::nullopt;
  const LanePlan made(problem, problem.costs.forDevices(1), plan, lanesOf(plan),
                      Fragments::none);
  return stepOf(made.lanes, LaneChoice(made.lanes.units, 0));
}

//===- Descent.cpp - Coordinate descent over plans ------------------------===//

#include "passes/plan/solve/Descent.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <random>

using namespace lwcc;
using namespace lwcc::plan;

/// How many proposals a round may take. Each walks over some of the layers on
/// all devices.
static size_t proposalsFor(const Problem &problem) {
  constexpr double work = 1e8, most = 5e4;
  return static_cast<size_t>(
      std::min(most, work / static_cast<double>(problem.graph.layers.size() *
                                                problem.machine.devices())));
}

Descent::Descent(const Problem &problem, Simulator &simulator)
    : problem(problem), simulator(simulator) {
  std::vector<LayerGroup> found = groupsOf(problem.graph);
  sets = groupSets(problem.graph, found);
  const size_t most = proposalsFor(problem) / sets.size();
  for (LayerGroup &layers : found) {
    groups.push_back({std::move(layers), {}});
    addWays(groups.back(), std::max<size_t>(8, most));
  }
}

/// Calls on the device that has most of them, and what crosses links to keep
/// copies of parameters equal.
Ticks Descent::timeAlone(const Group &group, const Tiling &leader) const {
  Ticks sum = 0;
  for (int layer : group.layers) {
    const TimedLayer &timed = simulator.timed(
        layer, tilingInGroup(problem.graph.layers[layer], leader));
    Ticks most = 0;
    for (int64_t device = 0; device < problem.machine.devices(); ++device) {
      Ticks busy = 0;
      for (TimedLayer::Row row :
           {TimedLayer::forward, TimedLayer::backward, TimedLayer::weight,
            TimedLayer::update, TimedLayer::ownUpdate})
        busy += timed[row][device];
      most = std::max(most, busy);
    }
    for (const Exchange *exchange : {&timed.reduce, &timed.gather}) {
      Ticks longest = 0;
      for (const Arrival &arrival : exchange->arrivals)
        longest = std::max(longest, arrival.duration);
      most += longest;
    }
    sum += most;
  }
  return sum;
}

void Descent::addWays(Group &group, size_t most) const {
  const Machine &machine = problem.machine;
  const int64_t devices = machine.devices();
  std::vector<std::pair<Ticks, Tiling>> tilings;
  for (Tiling &tiling : waysToCut(problem, group.layers[0])) {
    const Ticks alone = timeAlone(group, tiling);
    tilings.emplace_back(alone, std::move(tiling));
  }
  llvm::stable_sort(
      tilings, [](const auto &a, const auto &b) { return a.first < b.first; });
  for (auto &[alone, tiling] : tilings) {
    const int64_t tiles = tiling.tiles();
    auto place = [&](int64_t first, int64_t stride) {
      for (int64_t i = 0; i < tiles; ++i)
        tiling.places[i] = machine.place(first + i * stride);
      if (group.ways.size() < most)
        group.ways.push_back(tiling);
    };
    for (int64_t first = 0; first + tiles <= devices; first += tiles)
      place(first, 1);
    if (int64_t stride = devices / tiles; tiles > 1 && stride > 1)
      place(0, stride);
  }
}

std::vector<Simulator::Change> Descent::changesTo(const GroupSet &set,
                                                  const Tiling &way) const {
  std::vector<Simulator::Change> changes;
  for (size_t number : set) {
    const Group &group = groups[number];
    if (!canBeCut(problem, group.layers[0], way))
      return {};
    for (int layer : group.layers) {
      Tiling tiling = tilingInGroup(problem.graph.layers[layer], way);
      if (tiling != simulator.tilings()[layer])
        changes.push_back({layer, std::move(tiling)});
    }
  }
  return changes;
}

bool Descent::improve(const GroupSet &set) {
  std::vector<Simulator::Change> best;
  const int64_t capacity = problem.machine.device.memory;
  Ticks step = simulator.step();
  int64_t memory = simulator.memory();
  for (const Tiling &way : groups[set[0]].ways) {
    if (Clock::now() >= deadline) {
      ended = false;
      break;
    }
    std::vector<Simulator::Change> changes = changesTo(set, way);
    if (changes.empty())
      continue;
    const Ticks proposed = simulator.propose(changes);
    const int64_t needed = simulator.proposedMemory();
    // What does not fit must shrink first, however slow it gets.
    const bool better = memory > capacity
                            ? needed < memory
                            : needed <= capacity && proposed < step;
    if (!better)
      continue;
    best = std::move(changes);
    step = proposed;
    memory = needed;
  }
  if (best.empty())
    return false;
  simulator.propose(best);
  simulator.accept();
  return true;
}

bool Descent::run(const Tilings &start, Clock::time_point until) {
  deadline = until;
  ended = true;
  simulator.simulate(start);
  for (bool improved = true; improved && ended;) {
    improved = false;
    for (const GroupSet &set : sets)
      if (ended)
        improved |= improve(set);
  }
  return ended;
}

bool Descent::restart(uint64_t seed, int most, Clock::time_point until) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t count) { return random() % count; };
  Tilings best = simulator.tilings();
  const size_t disturbed = std::max<size_t>(2, groups.size() / 8);
  for (int without = 0; without < most && Clock::now() < until; ++without) {
    const Ticks before = simulator.step();
    const int64_t memory = simulator.memory();
    for (size_t i = 0; i < disturbed; ++i) {
      const GroupSet &set = sets[below(sets.size())];
      const std::vector<Tiling> &ways = groups[set[0]].ways;
      const std::vector<Simulator::Change> changes =
          changesTo(set, ways[below(ways.size())]);
      if (changes.empty())
        continue;
      simulator.propose(changes);
      simulator.accept();
    }
    const Tilings disturbedTilings = simulator.tilings();
    run(disturbedTilings, until);
    const int64_t capacity = problem.machine.device.memory;
    const bool better = memory > capacity ? simulator.memory() < memory
                                          : simulator.memory() <= capacity &&
                                                simulator.step() < before;
    if (better) {
      best = simulator.tilings();
      without = -1;
    } else {
      simulator.simulate(best);
    }
  }
  return Clock::now() < until;
}

Plan lwcc::plan::solveDescent(const Problem &problem) {
  // Without time to search, what is left are the fixed strategies.
  if (problem.search.seconds <= 0)
    return solveAuto(problem);
  const auto deadline =
      Descent::Clock::now() +
      std::chrono::duration_cast<Descent::Clock::duration>(
          std::chrono::duration<double>(problem.search.seconds));
  Simulator simulator(problem);
  Descent descent(problem, simulator);
  const int64_t capacity = problem.machine.device.memory;
  std::optional<Tilings> best;
  std::pair<bool, int64_t> least; // does not fit; ticks, or bytes
  bool ended = true;
  for (llvm::StringRef name : {"data", "owt", "model", "single", "layerwise"}) {
    Tilings start = tilingsOf(problem.graph, findSolver(name)->solve(problem));
    if (!isAllowed(problem, start))
      continue;
    ended &= descent.run(start, deadline);
    const bool tooLarge = simulator.memory() > capacity;
    std::pair<bool, int64_t> found{tooLarge, tooLarge ? simulator.memory()
                                                      : simulator.step()};
    if (best && found >= least)
      continue;
    best = simulator.tilings();
    least = found;
  }
  simulator.simulate(*best);
  ended = ended && descent.restart(problem.search.seed, 8, deadline);
  Plan plan = planOf(problem, simulator.tilings(), "descent");
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

//===- Mcmc.cpp - A Markov chain over plans -------------------------------===//

#include "passes/plan/solve/Mcmc.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

Chain::Chain(const Problem &problem, Simulator &simulator)
    : problem(problem), simulator(simulator),
      deadline(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(problem.search.seconds))),
      capacity(problem.machine.device.memory), random(problem.search.seed) {
  std::vector<LayerGroup> groups = groupsOf(problem.graph);
  sets = groupSets(problem.graph, groups);
  for (LayerGroup &group : groups) {
    std::vector<Tiling> tilings = waysToCut(problem, group[0]);
    space.push_back({std::move(group), std::move(tilings)});
  }
}

/// Not std::uniform_int_distribution, whose draws differ between libraries.
int64_t Chain::below(int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

/// Half of all draws put the tiles on the devices in turn, from the first one
/// or from any; the others put them anywhere, on a device each.
Tiling Chain::draw(const Group &group) {
  Tiling tiling = group.tilings[below(group.tilings.size())];
  int64_t devices = problem.machine.devices();
  if (below(2) == 0) {
    int64_t first = below(2) == 0 ? 0 : below(devices);
    for (auto [i, place] : llvm::enumerate(tiling.places))
      place = problem.machine.place(first + static_cast<int64_t>(i));
    return tiling;
  }
  llvm::SmallVector<int64_t, 64> free(devices);
  std::iota(free.begin(), free.end(), 0);
  for (auto [i, place] : llvm::enumerate(tiling.places)) {
    std::swap(free[i], free[i + below(devices - static_cast<int64_t>(i))]);
    place = problem.machine.place(free[i]);
  }
  return tiling;
}

Tilings Chain::randomTilings() {
  Tilings tilings(problem.graph.layers.size());
  for (const Group &group : space)
    for (const Simulator::Change &change : changesTo(group, draw(group)))
      tilings[change.layer] = change.tiling;
  return tilings;
}

std::vector<Simulator::Change> Chain::changesTo(const Group &group,
                                                const Tiling &leader) const {
  std::vector<Simulator::Change> changes;
  changes.reserve(group.layers.size());
  for (int layer : group.layers)
    changes.push_back(
        {layer, tilingInGroup(problem.graph.layers[layer], leader)});
  return changes;
}

/// Most draws change one group, which may be all that is left to do. Others
/// cut several alike, or move them to other devices together.
std::vector<Simulator::Change> Chain::randomChange() {
  if (below(4) != 0) {
    const Group &group = space[below(groups())];
    return changesTo(group, draw(group));
  }
  const GroupSet &set = sets[below(static_cast<int64_t>(sets.size()))];
  const int64_t devices = problem.machine.devices();
  std::vector<Simulator::Change> changes;
  if (below(2) == 0) {
    const int64_t distance = below(devices);
    for (size_t number : set)
      for (int layer : space[number].layers) {
        Tiling moved = simulator.tilings()[layer];
        for (Place &place : moved.places)
          place =
              problem.machine.place(problem.machine.deviceOf(place) + distance);
        changes.push_back({layer, std::move(moved)});
      }
    return changes;
  }
  const Tiling way = draw(space[set[0]]);
  for (size_t number : set) {
    const Group &group = space[number];
    if (canBeCut(problem, group.layers[0], way))
      llvm::append_range(changes, changesTo(group, way));
  }
  return changes;
}

void Chain::note(const Tilings &tilings, Ticks step, int64_t memory) {
  bool quicker = memory <= capacity && (!fits() || step < bestTicks);
  bool smaller = !fits() && memory < bestMemory;
  if (!bestTilings.empty() && !quicker && !smaller)
    return;
  bestTilings = tilings;
  bestTicks = step;
  bestMemory = memory;
}

bool Chain::run(const Tilings &start, int64_t proposals, Observer observe) {
  Ticks step = simulator.simulate(start);
  int64_t memory = simulator.memory();
  note(start, step, memory);
  const double beta = std::log(20.0) / (0.01 * static_cast<double>(step));
  const int64_t leastProposals = std::max<int64_t>(1000, 20 * groups());
  Ticks quickest = step;
  int64_t lastFound = 0;
  for (int64_t i = 0; i < proposals; ++i) {
    if (i >= leastProposals && i > 2 * lastFound)
      return true;
    if (i % 64 == 0 && Clock::now() >= deadline)
      return false;
    std::vector<Simulator::Change> changes = randomChange();
    double chance = static_cast<double>(random() >> 11) * 0x1p-53;
    llvm::erase_if(changes, [&](const Simulator::Change &change) {
      return change.tiling == simulator.tilings()[change.layer];
    });
    if (changes.empty())
      continue;
    Ticks proposed = simulator.propose(changes);
    if (observe)
      observe(changes, proposed);
    // What does not fit must shrink first, however slow it gets.
    const int64_t needed = simulator.proposedMemory();
    const bool shrinks = memory > capacity;
    const bool slower =
        proposed > step &&
        chance >= std::exp(beta * static_cast<double>(step - proposed));
    if (shrinks ? needed >= memory : needed > capacity || slower)
      continue;
    simulator.accept();
    step = proposed;
    memory = needed;
    if (shrinks || step < quickest) {
      quickest = step;
      lastFound = i;
    }
    note(simulator.tilings(), step, memory);
  }
  return true;
}

bool Chain::restart(int64_t proposals, int most) {
  // Disturbed much, a start is as good as a random one, and those are bad for
  // models of many layers.
  const int64_t disturbed = std::max<int64_t>(2, groups() / 8);
  for (int without = 0; without < most; ++without) {
    const Ticks before = bestStep();
    simulator.simulate(best());
    for (int64_t i = 0; i < disturbed; ++i) {
      simulator.propose(randomChange());
      simulator.accept();
    }
    const Tilings start = simulator.tilings();
    if (!run(start, proposals))
      return false;
    if (bestStep() < before)
      without = -1;
  }
  return true;
}

Plan lwcc::plan::solveMcmc(const Problem &problem) {
  // Without time for a chain, what is left are the fixed strategies.
  if (problem.search.seconds <= 0)
    return solveAuto(problem);
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  const int64_t proposals = 500 * chain.groups();
  bool ended = true;
  for (llvm::StringRef name : {"data", "owt", "layerwise"}) {
    Tilings start = tilingsOf(problem.graph, findSolver(name)->solve(problem));
    if (isAllowed(problem, start))
      ended &= chain.run(start, proposals);
  }
  ended &= chain.run(chain.randomTilings(), proposals);
  ended = ended && chain.restart(proposals, 8);
  Plan plan = planOf(problem, chain.best(), "mcmc");
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

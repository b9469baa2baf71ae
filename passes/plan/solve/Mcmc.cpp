//===- Mcmc.cpp - A Markov chain over plans -------------------------------===//

#include "passes/plan/solve/Mcmc.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

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
  for (LayerGroup &group : groupsOf(problem.graph)) {
    std::vector<Tiling> tilings =
        equalTilings(problem.graph.layers[group[0]], problem.machine,
                     problem.search.dimensions);
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
  std::vector<int64_t> free(devices);
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
    for (const Simulator::Change &change : randomChange(group))
      tilings[change.layer] = change.tiling;
  return tilings;
}

std::vector<Simulator::Change> Chain::randomChange(const Group &group) {
  Tiling leader = draw(group);
  std::vector<Simulator::Change> changes;
  for (int layer : group.layers)
    changes.push_back(
        {layer, tilingInGroup(problem.graph.layers[layer], leader)});
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
    std::vector<Simulator::Change> changes =
        randomChange(space[below(space.size())]);
    double chance = static_cast<double>(random() >> 11) * 0x1p-53;
    if (changes[0].tiling == simulator.tilings()[changes[0].layer])
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

std::string lwcc::plan::outOfTime(const Problem &problem) {
  return llvm::formatv("the search was ended after its {0:f1} seconds, so that "
                       "another run may find another plan; --search-seconds "
                       "gives it more",
                       problem.search.seconds);
}

Plan lwcc::plan::solveMcmc(const Problem &problem) {
  // Without time for a chain, what is left are the fixed strategies.
  if (problem.search.seconds <= 0)
    return solveAuto(problem);
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  int64_t proposals = 500 * chain.groups();
  bool ended = true;
  for (llvm::StringRef name : {"data", "layerwise"}) {
    Tilings start = tilingsOf(problem.graph, findSolver(name)->solve(problem));
    if (isCutAlong(problem.graph, start, problem.search.dimensions))
      ended &= chain.run(start, proposals);
  }
  ended &= chain.run(chain.randomTilings(), proposals);
  Plan plan = planOf(problem, chain.best(), "mcmc");
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

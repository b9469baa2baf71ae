//===- Auto.cpp - The best plan of all solvers ------------------*- C++ -*-===//
//
// The best plan of all solvers. The candidates are every solver's plan, and the
// quickest of these in simulation, improved by descent (Descent.h) and polished
// by a short Markov chain (Mcmc.h). Of the candidates that fit into memory, the
// eight that are quickest in simulation become programs, and `auto` takes the
// one whose program has the shortest step. That need not be what descent or the
// chain found, since the simulator knows less than ../price/ProgramTime.h.
// Large programs take long to make: there fewer are, and beyond that the
// simulator decides alone. Last come plans with micro-batches, the best
// pipeline among them: the simulator knows nothing of these, so only their
// programs are compared.
//
// So what `auto` finds is never predicted to be slower than any fixed strategy
// that fits, by the simulator or by programs. The layer-wise search is cut
// short where it would take too long; then its plan need not be the cheapest.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/Descent.h"
#include "passes/plan/solve/Mcmc.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
struct Candidate {
  std::string origin;
  Tilings tilings;
  Ticks simulated = 0;
};
} // namespace

/// Bytes that the fullest device needs with micro-batches, at most: as if all
/// micro-batches were held, and with a second set of gradients, since those of
/// a micro-batch stand beside the sum of those before.
static int64_t memoryOf(const Problem &problem, const Tilings &tilings,
                        Simulator &simulator) {
  std::vector<double> gradients(problem.machine.devices(), 0);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    // A tile of each device is enough: micro-batches share parameters.
    std::set<std::pair<int64_t, size_t>> counted;
    LayerTiles tiles = problem.graph.tiles(static_cast<int>(i), tiling);
    for (auto [p, regions] : llvm::enumerate(tiles.params))
      for (auto [region, place] : llvm::zip_equal(regions, tiling.places)) {
        int64_t device = problem.machine.deviceOf(place);
        if (region && counted.insert({device, p}).second)
          gradients[device] +=
              tiling::volume(*region) *
              static_cast<double>(
                  problem.graph.layers[i].params[p].elementBytes);
      }
  }
  simulator.simulate(tilings);
  return simulator.memory() +
         static_cast<int64_t>(*llvm::max_element(gradients));
}

/// The plan whose program has the shortest step, of all candidates, plans with
/// micro-batches and pipelines; the first of equals.
static Plan quickest(const Problem &problem,
                     llvm::ArrayRef<Candidate> candidates,
                     llvm::ArrayRef<Plan> inMicroBatches,
                     Simulator &simulator) {
  const Candidate *best = nullptr;
  double least = 0;
  auto planFor = [&](const Candidate &candidate) {
    return planOf(problem, candidate.tilings, "auto: " + candidate.origin);
  };
  for (const Candidate &candidate : candidates) {
    double step = problem.programStep(planFor(candidate));
    if (!best || step < least) {
      best = &candidate;
      least = step;
    }
  }
  const Plan *bestOfThese = nullptr;
  for (const Plan &plan : inMicroBatches) {
    if (!problem.canTime(plan) ||
        memoryOf(problem, tilingsOf(problem.graph, plan), simulator) >
            problem.machine.device.memory)
      continue;
    if (double step = problem.programStep(plan); step < least) {
      bestOfThese = &plan;
      least = step;
    }
  }
  const bool mayPipeline =
      problem.search.seconds > 0 && problem.timesPrograms() &&
      problem.machine.devices() > 1 && problem.search.kept.empty() &&
      llvm::StringRef(problem.search.dimensions).contains('n');
  if (std::optional<Plan> pipeline =
          mayPipeline ? solvePipeline(problem, least) : std::nullopt) {
    pipeline->strategy = "auto: " + pipeline->strategy;
    return *pipeline;
  }
  if (bestOfThese) {
    Plan plan = *bestOfThese;
    plan.strategy = "auto: " + plan.strategy;
    return plan;
  }
  return planFor(*best);
}

Plan lwcc::plan::solveAuto(const Problem &problem) {
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  std::vector<Candidate> candidates; ///< that fit into memory
  std::vector<Plan> inMicroBatches;
  Candidate simulated; ///< the quickest in simulation
  auto run = [&](const Candidate &start, int64_t proposals) {
    bool ended = chain.run(start.tilings, proposals);
    if (simulated.tilings != chain.best())
      simulated = {start.origin, chain.best()};
    return ended;
  };
  auto add = [&](const Candidate &candidate) {
    if (llvm::any_of(candidates, [&](const Candidate &known) {
          return known.tilings == candidate.tilings;
        }))
      return;
    candidates.push_back(candidate);
    candidates.back().simulated = simulator.simulate(candidate.tilings);
  };
  auto consider = [&](llvm::StringRef name, const Plan &plan) {
    Candidate candidate{name.str(), tilingsOf(problem.graph, plan)};
    if (!isAllowed(problem, candidate.tilings))
      return;
    if (!plan.order.empty()) {
      inMicroBatches.push_back(plan);
      return;
    }
    run(candidate, 0);
    if (simulator.memory() <= problem.machine.device.memory)
      add(candidate);
  };
  consider("data", findSolver("data")->solve(problem));
  for (const Solver &solver : solvers())
    if (!solver.searches && solver.name != "data")
      consider(solver.name, solver.solve(problem));
  bool ended = true;
  if (problem.search.seconds > 0) {
    // Where bounds leave many values (Bounds.h), elimination may take minutes;
    // this much of it takes less than a second.
    constexpr double limit = 1e8;
    consider("layerwise", solveLayerwise(problem, limit));
    if (std::optional<Plan> branches = solveBranches(problem))
      consider("branches", *branches);
    Descent descent(problem, simulator);
    ended = descent.run(simulated.tilings, chain.until());
    run({simulated.origin + ", descended", simulator.tilings()}, 0);
    if (chain.fits())
      add(simulated);
    ended &= run({simulated.origin + ", polished", simulated.tilings},
                 100 * chain.groups());
    if (chain.fits())
      add(simulated);
  }
  // Data parallelism, considered first, stays so among equals.
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.simulated < b.simulated;
  });
  if (candidates.size() > problem.finalists())
    candidates.erase(candidates.begin() + problem.finalists(),
                     candidates.end());
  Plan plan =
      !candidates.empty()
          ? quickest(problem, candidates, inMicroBatches, simulator)
          : planOf(problem, simulated.tilings, "auto: " + simulated.origin);
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

//===- Auto.cpp - The best plan of all solvers ------------------*- C++ -*-===//
//
// Every solver's plan, priced by the simulator; the quickest one that fits into
// memory is polished by a Markov chain. So what auto finds is never predicted
// to be slower than any fixed strategy that fits. Data parallelism comes first:
// others must be quicker than it, not equal. The layer-wise search is cut short
// where it would take too long: then its plan need not be the cheapest.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Mcmc.h"

using namespace lwcc::plan;

Plan lwcc::plan::solveAuto(const Problem &problem) {
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  std::string origin;
  Ticks quickest = 0;
  auto consider = [&](llvm::StringRef name, const Plan &plan) {
    if (!mayFind(problem, plan))
      return;
    Ticks before = chain.bestStep();
    chain.run(tilingsOf(problem.graph, plan), 0);
    if (origin.empty() || chain.bestStep() != before)
      origin = name.str();
    quickest = chain.bestStep();
  };
  consider("data", findSolver("data")->solve(problem));
  for (const Solver &solver : solvers())
    if (!solver.searches && solver.name != "data")
      consider(solver.name, solver.solve(problem));
  if (problem.search.seconds <= 0)
    return planOf(problem, chain.best(), "auto: " + origin);
  // Where bounds leave many values (Bounds.h), elimination may take minutes;
  // this much of it takes less than a second.
  constexpr double limit = 1e8;
  consider("layerwise", solveLayerwise(problem, limit));
  bool ended = chain.run(Tilings(chain.best()), 100 * chain.groups());
  if (chain.bestStep() < quickest)
    origin += ", polished";
  Plan plan = planOf(problem, chain.best(), "auto: " + origin);
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

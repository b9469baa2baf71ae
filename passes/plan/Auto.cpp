//===- Auto.cpp - The best plan of all solvers ------------------*- C++ -*-===//
//
// Every solver's plan, priced by the simulator; the quickest one that fits into
// memory is polished by a Markov chain. So what auto finds is never predicted
// to be slower than any fixed strategy that fits. Data parallelism comes first:
// others must be quicker than it, not equal. The layer-wise search is cut short
// where it would take too long: then its plan need not be the cheapest. The
// chain is short: with all of mcmc's, LeNet-5 got a plan that only the
// simulator takes for quicker.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Mcmc.h"

using namespace lwcc::plan;

Plan lwcc::plan::solveAuto(const Problem &problem) {
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  std::string origin;
  Ticks quickest = 0;
  auto note = [&](const std::string &name) {
    if (origin.empty() || chain.bestStep() != quickest)
      origin = name;
    quickest = chain.bestStep();
  };
  auto consider = [&](llvm::StringRef name, const Plan &plan) {
    Tilings tilings = tilingsOf(problem.graph, plan);
    if (!isCutAlong(problem.graph, tilings, problem.search.dimensions))
      return;
    chain.run(tilings, 0);
    note(name.str());
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
  note(origin + ", polished");
  Plan plan = planOf(problem, chain.best(), "auto: " + origin);
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

//===- Auto.cpp - The best plan of all solvers ------------------*- C++ -*-===//
//
// Every solver's plan, priced by the simulator; the quickest one that fits into
// memory is polished by a Markov chain. So it is never predicted to be slower
// than any fixed strategy that fits. Data parallelism comes first: others must
// be quicker than it, not equal.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Mcmc.h"

using namespace lwcc::plan;

Plan lwcc::plan::solveAuto(const Problem &problem) {
  Simulator simulator(problem);
  Chain chain(problem, simulator);
  std::string origin;
  Ticks quickest = 0;
  auto consider = [&](const Solver &solver) {
    Ticks before = chain.bestStep();
    chain.run(tilingsOf(problem.graph, solver.solve(problem)), 0);
    if (origin.empty() || chain.bestStep() != before)
      origin = solver.name.str();
    quickest = chain.bestStep();
  };
  consider(*findSolver("data"));
  for (const Solver &solver : solvers())
    if (!solver.searches && solver.name != "data")
      consider(solver);
  if (problem.budget.seconds <= 0)
    return planOf(problem, chain.best(), "auto: " + origin);
  consider(*findSolver("layerwise"));
  bool ended = chain.run(Tilings(chain.best()), 100 * chain.groups());
  if (chain.bestStep() < quickest)
    origin += ", polished";
  Plan plan = planOf(problem, chain.best(), "auto: " + origin);
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

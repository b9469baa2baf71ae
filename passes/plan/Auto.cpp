//===- Auto.cpp - The best plan of all solvers ------------------*- C++ -*-===//
//
// Every solver's plan, priced by the simulator, among them what `mcmc` meets;
// from the quickest one that fits into memory one more chain begins. So what
// auto finds is never predicted to be slower than any other strategy that fits,
// unless time ran out. Data parallelism comes first: others must be quicker
// than it, not equal. The layer-wise search is cut short where it would take
// too long: then its plan need not be the cheapest.
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
  const Plan layerwise = solveLayerwise(problem, limit);
  consider("layerwise", layerwise);
  bool ended = explore(problem, chain, layerwise);
  note("mcmc");
  if (origin != "data" && origin != "layerwise") { // chains began there
    ended &= chain.run(Tilings(chain.best()), 100 * chain.groups());
    note(origin + ", polished");
  }
  Plan plan = planOf(problem, chain.best(), "auto: " + origin);
  if (!ended)
    plan.warning = outOfTime(problem);
  return plan;
}

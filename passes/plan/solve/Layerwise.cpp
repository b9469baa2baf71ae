//===- Layerwise.cpp - The exact layer-wise search --------------*- C++ -*-===//
//
// The exact layer-wise search of Jia et al., "Exploring Hidden Dimensions in
// Parallelizing Convolutional Neural Networks", 2018 (OptCNN). Of all ways to
// cut each layer (CostTables.h) it takes those whose sum of costs is least, by
// elimination (../minsum/MinSum.h). Elementwise layers and batch normalizations
// are cut like what they follow. Beyond the paper, layers are cut along their
// reduction, too (not with --search-dimensions=nchw).
//
// The paper's baseline is here as well: it finds the same plan by depth-first
// search (../minsum/DepthFirst.h).
//
//===----------------------------------------------------------------------===//

#include "passes/plan/minsum/DepthFirst.h"
#include "passes/plan/solve/CostTables.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>

using namespace lwcc;
using namespace lwcc::plan;

Plan lwcc::plan::solveLayerwise(const Problem &problem) {
  return solveLayerwise(problem, /*limit=*/4e9);
}

Plan lwcc::plan::solveLayerwise(const Problem &problem, double limit) {
  constexpr llvm::StringLiteral name = "layerwise";
  if (problem.exactPlans)
    if (auto known = problem.exactPlans->find(name);
        known != problem.exactPlans->end())
      return known->second.plan;
  const auto start = std::chrono::steady_clock::now();
  CostTables tables(problem);
  MinSumSolution found = solve(tables.sum(), limit);
  Plan plan = tables.planOf(found.choice, name);
  if (found.bound < found.cost)
    plan.warning =
        llvm::formatv("the layers depend on too many others for an "
                      "exact search: the plan is predicted to take "
                      "{0:f3} ms, the best no less than {1:f3} ms",
                      found.cost * 1e3, std::max(found.bound, 0.0) * 1e3);
  else if (problem.exactPlans)
    problem.exactPlans->insert(
        {name,
         {plan, std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                              start)
                    .count()}});
  return plan;
}

Plan lwcc::plan::solveDepthFirst(const Problem &problem) {
  constexpr double limit = 1e9; // some ten seconds
  CostTables tables(problem);
  DepthFirstSolution found = searchDepthFirst(tables.sum(), limit);
  Plan plan = tables.planOf(found.choice, "dfs");
  if (!found.finished)
    plan.warning = llvm::formatv("depth-first search was given up after {0:f0} "
                                 "choices: its plan need not be the cheapest; "
                                 "'layerwise' finds that one",
                                 found.visited);
  return plan;
}

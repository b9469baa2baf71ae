//===- Solvers.h - The table of planning strategies -------------*- C++ -*-===//
//
// A strategy is one row: a function from the layers and the machine to a plan.
// A new one is a new row; the IR, the code generator and the runtime never
// learn of it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SOLVERS_H
#define LWCC_PASSES_PLAN_SOLVE_SOLVERS_H

#include "passes/plan/price/Setting.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lwcc::plan {

/// What searches may do.
struct SearchOptions {
  double seconds = 10; ///< of a search by chance; 0 for none at all
  uint64_t seed = 0;
  /// What layers may be cut along.
  std::string dimensions = plan::dimensions.str();
};

/// What a solver is given.
struct Problem : Setting {
  SearchOptions search = {};
  /// Seconds that a step of the very program takes which a plan becomes
  /// (ProgramTime.h). Null where making programs would take too long.
  llvm::function_ref<double(const Plan &plan)> programStep = nullptr;
};

struct Solver {
  llvm::StringRef name;
  llvm::StringRef summary;
  Plan (*solve)(const Problem &problem);
  bool searches = false;    ///< takes time, and asks what the machine can do
  bool heedsMemory = false; ///< finds what fits if it can
};

/// A plan without layers, which says what it is made for.
Plan planFor(const Problem &problem, llvm::StringRef strategy);
/// A plan of these tilings, one for each layer of the graph.
Plan planOf(const Problem &problem, const Tilings &tilings,
            llvm::StringRef strategy);

/// Exact minimum of OptCNN's sum (Layerwise.cpp).
Plan solveLayerwise(const Problem &problem);
/// The same with at most so many sums to eliminate one layer (MinSum.h).
Plan solveLayerwise(const Problem &problem, double limit);
/// The same by depth-first search, as far as that gets (Layerwise.cpp).
Plan solveDepthFirst(const Problem &problem);
/// Markov chains over simulated steps (Mcmc.cpp).
Plan solveMcmc(const Problem &problem);
/// The best of all these (Auto.cpp).
Plan solveAuto(const Problem &problem);

llvm::ArrayRef<Solver> solvers();
const Solver *findSolver(llvm::StringRef name);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SOLVERS_H

//===- Solvers.h - The table of planning strategies -------------*- C++ -*-===//
//
// Defines the nouns of searching, and the table of strategies:
//
//   problem   what a solver is given: a setting, and what searches may do
//   solver    a function from a problem to a plan
//   strategy  a row of the table: a solver and its name in files and flags
//   space     the ways to cut that searches choose from (Space.h)
//
// A new strategy is a new row. The IR, the code generator and the runtime never
// learn of it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SOLVERS_H
#define LWCC_PASSES_PLAN_SOLVE_SOLVERS_H

#include "passes/plan/price/Setting.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>

namespace lwcc::plan {

/// How layers are to be cut whatever is found: degrees of leaders (Keep.h).
using KeptDegrees = std::map<int, Extents>;

/// What searches may do.
struct SearchOptions {
  double seconds = 10; ///< for a search by chance; 0: there is none
  uint64_t seed = 0;
  /// The dimensions that layers may be cut along.
  std::string dimensions = lwcc::dimensions.str();
  int64_t microBatches = 0; ///< 0: what the strategy finds best
  int64_t lanes = 1;        ///< of each device (Lanes.h)
  std::string schedule;     ///< of a pipeline (PipelineOrder.h); "": likewise
  int64_t stages = 0;       ///< of a pipeline; 0: likewise
  KeptDegrees kept;
};

/// The plan of an exact search, and how long that took.
struct ExactPlan {
  Plan plan;
  double seconds;
};

/// What a solver is given.
struct Problem : Setting {
  SearchOptions search = {};
  /// Compiles a plan and tells how many seconds a step of that program takes
  /// (ProgramTime.h); infinity for a plan that cannot be compiled. Null where
  /// no programs can be made.
  llvm::function_ref<double(const Plan &plan)> programStep = nullptr;
  /// Of how many plans without micro-batches it tells that in some ten seconds:
  /// eight at most, and none where a single one takes several.
  size_t finalists() const;
  /// Whether it does for eight: then every strategy's program is asked.
  bool timesPrograms() const;
  /// Whether it does for this plan. Micro-batches make programs larger.
  bool canTime(const Plan &plan) const;
  /// By strategy: who asks for such a plan again gets it at once. Null: none is
  /// kept.
  std::map<llvm::StringRef, ExactPlan> *exactPlans = nullptr;
};

struct Solver {
  llvm::StringRef name;
  llvm::StringRef summary;
  Plan (*solve)(const Problem &problem);
  bool searches = false;       ///< takes time, and asks for prices
  bool heedsMemory = false;    ///< looks for a plan that fits into memory
  bool inMicroBatches = false; ///< heeds SearchOptions::microBatches
};

/// The plan with the layers that are to be kept cut as wanted.
Plan withKept(const Problem &problem, Plan plan);
/// A plan without layers yet, which says what it is made for.
Plan planFor(const Problem &problem, llvm::StringRef strategy);
/// A plan of these tilings, one for each layer of the graph.
Plan planOf(const Problem &problem, const Tilings &tilings,
            llvm::StringRef strategy);

/// Krizhevsky's schemes (a), (b) and (c) (OneWeirdTrick.cpp).
Plan solveOneWeirdTrick(const Problem &problem);
Plan solveOneWeirdTrickByDevice(const Problem &problem);
Plan solveOneWeirdTrickBySlice(const Problem &problem);
/// Exact minimum of OptCNN's sum (Layerwise.cpp).
Plan solveLayerwise(const Problem &problem);
/// The same with a `limit` for MinSum.h's solve().
Plan solveLayerwise(const Problem &problem, double limit);
/// The same by depth-first search, which gives up on large models
/// (Layerwise.cpp).
Plan solveDepthFirst(const Problem &problem);
/// Markov chains over simulated steps (Mcmc.cpp).
Plan solveMcmc(const Problem &problem);
/// Coordinate descent over simulated steps (Descent.cpp).
Plan solveDescent(const Problem &problem);
/// Stages one behind the other, through which micro-batches go (Stages.cpp).
Plan solvePipeline(const Problem &problem);
/// The same of those that fit into memory, if it has several micro-batches and
/// a step of less than `atMost` seconds.
std::optional<Plan> solvePipeline(const Problem &problem, double atMost);
/// The same with one micro-batch: what branches and parts of the model run on
/// which devices. None if nothing fits into memory.
std::optional<Plan> solveBranches(const Problem &problem);
/// Blocks of layers on the devices between which they send the least
/// (HypergraphStrategy.cpp).
Plan solveHypergraph(const Problem &problem);
/// The hypergraph that it partitions, as a file of hMETIS, and in comments what
/// came of it.
std::string hypergraphOf(const Problem &problem);
/// The best of all these (Auto.cpp).
Plan solveAuto(const Problem &problem);

/// The warning of a plan whose search was ended by its deadline.
std::string outOfTime(const Problem &problem);

llvm::ArrayRef<Solver> solvers();
const Solver *findSolver(llvm::StringRef name);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SOLVERS_H

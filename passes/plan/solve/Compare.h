//===- Compare.h - What each strategy would cost ----------------*- C++ -*-===//
//
// Prices the plan at hand and the plans of all strategies that leave nothing to
// chance: by the step of the program, or as simulated where no program is made,
// and by OptCNN's sum (../price/Price.h). Beside them stands what no plan can
// fall below, and what each decision of the plan saves (Savings.h).
//
// The facts are a struct, of which --explain prints a text and tools/report
// makes a page.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_COMPARE_H
#define LWCC_PASSES_PLAN_SOLVE_COMPARE_H

#include "passes/plan/solve/Savings.h"

namespace lwcc::plan {

/// A plan of a strategy, and what it would cost.
struct PricedStrategy {
  std::string name;
  bool isChosen = false; ///< the plan at hand
  double step = 0;       ///< seconds, of the program if that is made
  /// By the simulator; of micro-batches by the turns of their stages, if these
  /// have as many (DescribePipeline.h); of several lanes by theirs, if they are
  /// on one device (LanePlan.h).
  std::optional<Ticks> simulated;
  int64_t bytes = 0;   ///< that devices exchange
  int64_t memory = 0;  ///< bytes of the fullest device, as predicted
  bool fits = true;    ///< into the memory of a device
  double sum = 0;      ///< seconds, of Eq. 1 (Price.h)
  double searched = 0; ///< seconds
};

/// What no plan can fall below: every call at the rates of the data sheet,
/// shared by all devices, with nothing exchanged. In seconds.
struct LowerBound {
  double step = 0;
  double arithmetic = 0, memory = 0; ///< if calls only computed, or only read
                                     ///< and wrote
};

struct Comparison {
  std::string costs; ///< what prices come from, for people
  int64_t devices = 0, batch = 0;
  std::vector<std::string> layers;        ///< names, in the model's order
  std::vector<PricedStrategy> strategies; ///< the quickest first
  std::string leftOut;             ///< strategies with too large programs
  double step = 0;                 ///< seconds, of the plan at hand
  std::optional<LowerBound> bound; ///< absent where calls were measured
  std::string remark;              ///< of whoever made the plan
  std::string pipeline; ///< stages and their schedule as text, if there are any
  /// Of the plan at hand; absent, as are its savings, if it orders
  /// micro-batches.
  std::optional<Ticks> simulated;
  Savings savings;
};

/// `name` is what the plan is called in the table, `searched` how many seconds
/// its search took.
Comparison compareStrategies(const Problem &problem, const Plan &plan,
                             llvm::StringRef name, double searched);

/// What --explain prints: a table for people.
std::string textOf(const Comparison &comparison);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_COMPARE_H

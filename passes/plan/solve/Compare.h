//===- Compare.h - What each strategy would cost ----------------*- C++ -*-===//
//
// What --explain prints about strategies: a table for people. Its rows are the
// plan at hand and the plans of all strategies that leave nothing to chance,
// the quickest first. A row has the step of the program, or as simulated where
// no program is made, and OptCNN's sum (../price/Price.h). Below stands what no
// plan can fall below, and what makes the plan better than data parallelism,
// layer by layer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_COMPARE_H
#define LWCC_PASSES_PLAN_SOLVE_COMPARE_H

#include "passes/plan/solve/Solvers.h"

namespace lwcc::plan {

/// `name` is what the plan is called in the table, `searched` how many seconds
/// its search took.
std::string compareStrategies(const Problem &problem, const Plan &plan,
                              llvm::StringRef name, double searched);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_COMPARE_H

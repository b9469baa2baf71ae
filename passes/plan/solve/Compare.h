//===- Compare.h - What each strategy would cost ----------------*- C++ -*-===//
//
// A table for people: a plan and those of the strategies that leave nothing to
// chance, simulated (`step`) and by OptCNN's sum without any overlap (Price.h),
// the quickest first; then what makes the plan better than
// data parallelism, layer by layer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_COMPARE_H
#define LWCC_PASSES_PLAN_SOLVE_COMPARE_H

#include "passes/plan/solve/Solvers.h"

namespace lwcc::plan {

/// `name` is what the plan is called in the table, `searched` how many seconds
/// it took to find it.
std::string compareStrategies(const Problem &problem, const Plan &plan,
                              llvm::StringRef name, double searched);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_COMPARE_H

//===- LeastOver.h - The least over one variable ----------------*- C++ -*-===//
//
// One step of variable elimination. Searches spend most of their time here.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H
#define LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H

#include "passes/plan/minsum/MinSum.h"

#include "llvm/ADT/ArrayRef.h"

namespace lwcc::plan {

/// Replaces the factors `own` of `variable` by one factor over `neighbours`.
/// For each choice of the neighbours it holds the least sum of `own` over all
/// values of `variable`. There is at least one neighbour; they are in rising
/// order. `values` says how many values each variable has.
Factor leastOver(int variable, const std::vector<int> &neighbours,
                 llvm::ArrayRef<Factor> own, const std::vector<int> &values);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H

//===- LeastOver.h - The least over one variable ----------------*- C++ -*-===//
//
// One step of elimination: what the factors of a variable add at the least, for
// every choice of its neighbours. This is where elimination spends its time.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H
#define LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H

#include "passes/plan/minsum/MinSum.h"

#include "llvm/ADT/ArrayRef.h"

namespace lwcc::plan {

/// The factor over `neighbours` (at least one, in rising order) that holds the
/// least sum of `own` over all values of `variable`. `own` are factors of
/// `variable` and `neighbours`, of which each has `values`.
Factor leastOver(int variable, const std::vector<int> &neighbours,
                 llvm::ArrayRef<Factor> own, const std::vector<int> &values);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_LEASTOVER_H

//===- Bounds.h - Values that cost too much ---------------------*- C++ -*-===//
//
// A filter that shrinks a problem before elimination: it drops values with
// which no choice can be as cheap as one that is known.
//
// A lower bound of all choices with a value comes from moving costs between
// factors of one variable and of two, which leaves every sum as it is. The
// aim of the moves is that the least costs of all factors add up to as much as
// possible (sequential tree-reweighted message passing: Kolmogorov, "Convergent
// Tree-Reweighted Message Passing for Energy Minimization", 2006). Where that
// bound is tight, few values remain, and elimination has little to do.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_BOUNDS_H
#define LWCC_PASSES_PLAN_MINSUM_BOUNDS_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

/// Drops values from `problem` that are in no cheapest choice. Returns for each
/// variable the values that are left, in rising order.
std::vector<std::vector<int>> dropByBound(MinSum &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_BOUNDS_H

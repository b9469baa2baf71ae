//===- Bounds.h - Values that cost too much ---------------------*- C++ -*-===//
//
// A value is dropped if no choice with it can be as cheap as one that is known.
// What choices with it cost at least is told by moving costs between factors of
// one and of two variables, which leaves every sum as it is, until the least
// entries of all of them add up to as much as possible (sequential tree-
// reweighted message passing, Kolmogorov 2006). Where that bound is tight, few
// values remain, and elimination has little to do.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_BOUNDS_H
#define LWCC_PASSES_PLAN_MINSUM_BOUNDS_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

/// Drops from `problem` values that are in no cheapest choice. Returns, of each
/// variable, which are left, in rising order.
std::vector<std::vector<int>> dropByBound(MinSum &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_BOUNDS_H

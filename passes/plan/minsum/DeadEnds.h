//===- DeadEnds.h - Values that can never be best ---------------*- C++ -*-===//
//
// A filter that shrinks a problem before elimination: dead-end elimination
// (Goldstein 1994). A value is a dead end if another value of the same variable
// costs no more, whatever the neighbours are. Each value is compared with a few
// good ones only, so that some dead ends remain.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_DEADENDS_H
#define LWCC_PASSES_PLAN_MINSUM_DEADENDS_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

/// Drops dead ends from `problem`. Its least cost remains what it was. Returns
/// for each variable the values that are left, in rising order.
std::vector<std::vector<int>> dropDeadEnds(MinSum &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_DEADENDS_H

//===- DeadEnds.h - Values that can never be best ---------------*- C++ -*-===//
//
// Dead-end elimination (Goldstein 1994): a value is dropped in whose place
// another one costs no more whatever the neighbours do. Not all such values are
// found: each is compared with a few good ones.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_DEADENDS_H
#define LWCC_PASSES_PLAN_MINSUM_DEADENDS_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

/// Drops dead ends from `problem`, whose least cost remains. Returns, of each
/// variable, which of its values are left, in rising order.
std::vector<std::vector<int>> dropDeadEnds(MinSum &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_DEADENDS_H

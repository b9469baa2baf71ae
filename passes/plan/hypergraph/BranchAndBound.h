//===- BranchAndBound.h - The best partition of a small graph ---*- C++ -*-===//
//
// Gives vertices to parts one by one, and goes no further where what is given
// so far is as bad as a known partition: km1 and overload only grow. Parts are
// alike, so of those without vertices only the first is tried.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_HYPERGRAPH_BRANCHANDBOUND_H
#define LWCC_PASSES_PLAN_HYPERGRAPH_BRANCHANDBOUND_H

#include "passes/plan/hypergraph/Hypergraph.h"

namespace lwcc::plan {

/// Improves on `known` until nothing is better; sets `exact`, unless that takes
/// more than `limit` steps.
void branchAndBound(const PartitionProblem &problem, PartitionSolution &known,
                    int64_t limit = 20'000'000);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_HYPERGRAPH_BRANCHANDBOUND_H

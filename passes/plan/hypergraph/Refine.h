//===- Refine.h - A partition made better, vertex by vertex -----*- C++ -*-===//
//
// Fiduccia and Mattheyses 1982, "A linear-time heuristic for improving network
// partitions", for any number of parts and for km1 (Sanchis 1989). In a pass
// each vertex moves at most once, that with the best gain first, though it may
// be a loss; then the best state that the pass went through is restored. Passes
// end when one does not help. A pass may go through states that overload parts
// by a vertex, so that heavy vertices can trade places.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_HYPERGRAPH_REFINE_H
#define LWCC_PASSES_PLAN_HYPERGRAPH_REFINE_H

#include "passes/plan/hypergraph/Hypergraph.h"

#include <random>

namespace lwcc::plan {

/// Never makes overload, or at equal overload km1, larger. `random` breaks
/// ties.
void refine(const PartitionProblem &problem, Partition &partition,
            std::mt19937_64 &random);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_HYPERGRAPH_REFINE_H

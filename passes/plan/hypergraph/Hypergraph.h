//===- Hypergraph.h - Parts between which little is sent --------*- C++ -*-===//
//
// Defines the nouns of this room. It knows nothing of layers and machines.
//
//   vertex     work to be given to one part; it has a weight and a size
//   net        something that its pins, which are vertices, share: it is sent
//              from the part of one pin to the parts of the others
//   partition  a part for every vertex
//   km1        what a partition sends: of each net its cost, for each part that
//              has a pin of it but one (connectivity minus one)
//   load       of a part: the weights, or the sizes, of its vertices
//   overload   how far loads are above what the problem allows, in all
//
// partition() looks for a partition of least overload, and of these for one of
// least km1. Up to `mostExact` vertices it is exact, by branch and bound
// (BranchAndBound.h). Larger graphs are made coarse, partitioned, and refined
// while they become fine again (Multilevel.cpp), as in Schlag et al. 2016,
// "k-way Hypergraph Partitioning via n-Level Recursive Bisection", and others
// before. Refinement moves single vertices (Refine.h).
//
// All numbers are whole ones, and all chance comes from a seed: equal problems
// have equal partitions.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_HYPERGRAPH_HYPERGRAPH_H
#define LWCC_PASSES_PLAN_HYPERGRAPH_HYPERGRAPH_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lwcc::plan {

struct Hypergraph {
  struct Net {
    int64_t cost = 0;
    std::vector<int> pins; ///< different ones
  };
  std::vector<int64_t> weights; ///< of each vertex
  std::vector<int64_t> sizes;   ///< of each vertex
  std::vector<Net> nets;

  /// The same without nets that have one pin, and with one net for all that
  /// have the same pins. Pins come in rising order. Each partition has the same
  /// km1.
  Hypergraph reduced() const;
};

struct PartitionProblem {
  Hypergraph graph;
  int parts = 1;
  int64_t mostWeight = std::numeric_limits<int64_t>::max(); ///< of a part
  int64_t mostSize = std::numeric_limits<int64_t>::max();   ///< of a part
};

/// The part of each vertex.
using Partition = std::vector<int>;

int64_t km1(const Hypergraph &graph, const Partition &partition);
int64_t overload(const PartitionProblem &problem, const Partition &partition);

inline constexpr size_t mostExact = 20; ///< vertices

struct PartitionSolution {
  Partition partition;
  int64_t overload = 0, km1 = 0;
  bool exact = false; ///< whether nothing is better
};
PartitionSolution partition(const PartitionProblem &problem, uint64_t seed = 0);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_HYPERGRAPH_HYPERGRAPH_H

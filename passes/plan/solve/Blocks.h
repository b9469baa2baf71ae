//===- Blocks.h - A model as a hypergraph of blocks of filters --*- C++ -*-===//
//
// A model as a hypergraph, for model parallelism (the column-net model of
// sparse matrices, Çatalyürek and Aykanat 1999, with layers for matrices):
//
//   unit    a layer that computes products, and the layers behind it that only
//           go over its result; they are cut alike, along channels
//   block   consecutive channels of a unit, a vertex of the hypergraph: its
//           weight is the floating-point operations of a training step, its
//           size the bytes of parameters, optimizer state and results
//   net     a part of a tensor that units send each other, with the blocks that
//           make and read it; it costs its bytes
//
// A unit ends behind its cheap layers, so that what crosses is the thinnest
// tensor. If each part of a partition is a device, the forward pass sends km1
// bytes, and the backward pass as many, since gradients go the other way.
// Weights are not sent: one device has them.
//
// All filters of a dense layer share all their nets but those of their own
// results, so that it does not matter which of them are one vertex. There are
// as many blocks as balancing needs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_BLOCKS_H
#define LWCC_PASSES_PLAN_SOLVE_BLOCKS_H

#include "passes/plan/hypergraph/Hypergraph.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

namespace lwcc::plan {

class Blocks {
public:
  explicit Blocks(const Problem &problem);

  /// Parts are devices; none has much more to compute than the others, or more
  /// bytes than its memory.
  const PartitionProblem &partitionProblem() const { return graph; }

  /// A partition that sends no more, where blocks of a unit are put in order of
  /// their parts, and parts in the order of the model, as far as possible.
  Partition inOrder(const Partition &partition) const;

  /// Consecutive blocks of one part are a tile, on the part's device; samples
  /// are cut into as many parts as there are micro-batches.
  Tilings tilings(const Partition &partition, int64_t microBatches) const;

  /// The hypergraph as a file of hMETIS (format 11, as Mt-KaHyPar and others
  /// read it), with what this room found in comments.
  std::string toHmetis(const PartitionSolution &solution) const;

private:
  struct Unit {
    std::vector<int> layers;    ///< the first of them leads
    std::vector<int64_t> sizes; ///< channels of each block
    int first = 0;              ///< vertex
  };
  void findUnits();
  void divide(Unit &unit, double work, double total);
  void addNets();
  /// How a layer of the unit is cut into parts of so many of its channels.
  Tiling cut(const Unit &unit, int layer,
             const std::vector<int64_t> &channels) const;

  const Problem problem;
  std::vector<Unit> units;
  std::vector<int> unitOf; ///< of each layer
  PartitionProblem graph;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_BLOCKS_H

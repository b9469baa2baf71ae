//===- StageProblem.h - The best stages of a pipeline -----------*- C++ -*-===//
//
// Which parts of a graph of blocks become the stages of a pipeline, and on how
// many devices each runs: a plain problem and its exact solver, without layers
// and plans. ModelStages.h states the problem for a model.
//
// A *block* runs as one. A *tensor* goes from one block to others. Blocks form
// a series-parallel tree: a series of blocks and of branches, whose branches
// are series again. What is not series-parallel is a series in the given order.
// Of a series any run of consecutive members may be a stage, on any number of
// devices. Or branches are split: each has stages and devices of its own, as in
// Jeon et al., "GraphPipe", 2025. There may be fewer stages than devices.
//
// The cost is that of PipeDream's and Alpa's planners (Narayanan et al. 2019,
// Zheng et al. 2022), with transfers beside computing: what one micro-batch
// takes on the longest way through all stages and back, plus for each further
// one the time of the busiest stage or link, plus what is left of the exchange
// of gradients after the last backward turn. A stage in front of another goes
// on backward meanwhile (Fan et al., "DAPPLE", 2021). Memory is a constraint.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_STAGEPROBLEM_H
#define LWCC_PASSES_PLAN_SOLVE_STAGEPROBLEM_H

#include "passes/plan/solve/PipelineOrder.h"

#include <functional>
#include <limits>
#include <optional>

namespace lwcc::plan {

/// Times are seconds and sizes bytes, both of one micro-batch, unless said
/// otherwise.
struct StageProblem {
  struct Block {
    /// If d units of devices share the samples: entry d-1.
    std::vector<StageTimes> times;
    double activations = 0; ///< that are kept for the backward pass
    double held = 0;        ///< on each device, by no micro-batch
    double exchanged = 0;   ///< gradients of parameters, once in a step
  };
  struct Tensor {
    int producer = 0;
    std::vector<int> consumers; ///< later blocks, each once
    double bytes = 0;
  };
  std::vector<Block> blocks; ///< each behind those that it reads
  std::vector<Tensor> tensors;
  int64_t devices = 1, batches = 1;
  int64_t mostReplicas = 1; ///< devices of a stage
  /// A stage has a multiple of so many devices: with many devices the search
  /// would take minutes to try every number.
  int64_t unit = 1;
  /// On the longest way from the beginning to the end.
  int64_t leastStages = 1, mostStages = std::numeric_limits<int64_t>::max();
  bool splits = true;   ///< branches may have devices of their own
  double memory = 0;    ///< of a device
  double bandwidth = 1; ///< of a device's link, in each direction
  double latency = 0;
  /// How many micro-batches a stage holds, by the number of stages from it to
  /// the end, itself included. Does not fall.
  std::function<double(int64_t depth)> stashes;
};

struct StageCut {
  struct Stage {
    std::vector<int> blocks; ///< ascending
    int64_t devices = 1;
  };
  std::vector<Stage> stages; ///< each behind those that it reads
  double cost = 0;           ///< seconds of a step
};

/// What a stage takes and needs.
struct StageCosts {
  double busy = 0;    ///< computing
  double arrival = 0; ///< of what it reads; its gradients go back as long
  double link = 0;    ///< that its link is busy, in either direction
  double drain = 0; ///< backward, until the stages before have their gradients
  double sync = 0;  ///< exchange of gradients, once
  double held = 0, stash = 0; ///< bytes, and bytes for each stash
};
StageCosts costsOf(const StageProblem &problem, llvm::ArrayRef<int> blocks,
                   int64_t devices);

/// A cut of least cost; none if nothing fits into memory. The exact search ends
/// after `limit` comparisons of labels, by default some that take a second.
/// Then the cut is that of a coarser one: of the ways to cut the end of the
/// model it remembers, for each number of stages and devices, only the one that
/// looks best so far.
std::optional<StageCut> solveStages(const StageProblem &problem,
                                    double limit = 3e8);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_STAGEPROBLEM_H

//===- ModelStages.h - A model as stages of a pipeline ----------*- C++ -*-===//
//
// States a model as a StageProblem.h, for each number of micro-batches and each
// cap of stashes, and makes plans of the answers. Layers that take no time
// forward, and those that only go over what another one makes, go with the
// layer that they read; then cheap neighbours are joined until few blocks are
// left.
//
// A layer that normalizes groups of samples needs each of them at once: a
// micro-batch has whole groups. One group, of all samples, is one micro-batch.
//
// Does not decide the number of micro-batches, nor the schedule (Stages.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_MODELSTAGES_H
#define LWCC_PASSES_PLAN_SOLVE_MODELSTAGES_H

#include "passes/plan/price/Timing.h"
#include "passes/plan/solve/PipelineOrder.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"
#include "passes/plan/solve/StageProblem.h"

#include <limits>
#include <map>
#include <optional>

namespace lwcc::plan {

/// A limit that nothing reaches, of seconds or bytes.
inline constexpr double never = std::numeric_limits<double>::infinity();

/// How long it takes to add the gradients of a layer's parameters to those of
/// the micro-batches before (../../shard/Accumulate.cpp).
double secondsOfSum(const Setting &setting, const LayerTiles &tiles,
                    size_t tile);

/// A model as a pipeline.
class ModelStages {
public:
  explicit ModelStages(const Problem &problem)
      : problem(problem), layers(problem.graph.layers), timing(problem) {
    makeBlocks();
  }

  /// How many stages there may be at most.
  int64_t mostStages() const { return static_cast<int64_t>(blocks); }
  /// The model in stages, for so many micro-batches.
  struct Cut {
    Pipeline pipeline;
    std::vector<StageCut::Stage> stages; ///< of blocks
    std::vector<int64_t> firstDevices;   ///< of each stage
  };
  /// None if there are too few blocks, or if nothing fits into `memory` bytes.
  std::optional<Cut> cut(int64_t batches, const PipelineSchedule &schedule,
                         double memory);
  Plan plan(const Cut &cut, const PipelineSchedule &schedule) const;

private:
  const Problem &problem;
  const std::vector<LayerGraph::Layer> &layers;
  Timing timing;
  std::vector<size_t> blockOf; ///< of each layer
  size_t blocks = 0;
  std::map<int64_t, StageProblem> stated; ///< by micro-batches
  /// By micro-batches, chunks and stashes.
  std::map<std::vector<int64_t>, std::optional<StageCut>> solved;

  void makeBlocks();
  const StageProblem &state(int64_t batches);
  double forwardOf(size_t layer) {
    return static_cast<double>(timing.layer(static_cast<int>(layer), Tiling())
                                   .busy(Phase::forward)[0]);
  }
  /// The fewest samples of a layer that has several.
  int64_t samples() const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const LayerGraph::Layer &layer : layers)
      if (samplesOf(layer) > 1)
        least = std::min(least, samplesOf(layer));
    return least;
  }
  /// Calls `visit` with each tensor that a forward pass makes and others read,
  /// and with the layers that do.
  void forEachTensor(
      llvm::function_ref<void(int tensor, const std::vector<int> &readers)>
          visit) const {
    for (auto [t, tensor] : llvm::enumerate(problem.graph.tensors)) {
      std::vector<int> readers;
      for (auto [reader, phase] :
           llvm::zip_equal(tensor.consumers, tensor.needed))
        if (phase == Phase::forward && reader != tensor.producer)
          readers.push_back(reader);
      if (tensor.made == Phase::forward && !readers.empty())
        visit(static_cast<int>(t), readers);
    }
  }
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_MODELSTAGES_H

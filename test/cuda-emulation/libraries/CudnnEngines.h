//===- CudnnEngines.h - The engines that run a graph ------------*- C++ -*-===//
//
// A short list of engines that differ in what cuDNN lets them differ in: the
// precision of their products, whether sums have an order, whether a ReLU keeps
// NaN, how much workspace they take, which graphs they know. Which of them are
// offered for a graph, in which order, and which then refuse to become a plan
// or fail when they run, is drawn from the seed, as far as LibraryOptions leave
// it. The plain engine takes every convolution and never fails.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CUDNNENGINES_H
#define LWCC_TEST_CUDAEMULATION_CUDNNENGINES_H

#include "test/cuda-emulation/libraries/CudnnGraph.h"

namespace lwcc::emulation::dnn {

struct Engine {
  int64_t index = 0;
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A; ///< which offers it
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool fuses = true; ///< takes pointwise operations behind a convolution
  /// Bytes of workspace: some, and some for each element of the result.
  int64_t workspace = 0, workspacePerElement = 0;

  bool has(cudnnBackendNumericalNote_t note) const;
  int64_t workspaceFor(const Graph &graph) const;
};

/// All engines that know the graph, by index.
std::vector<const Engine *> enginesFor(const Graph &graph);
const Engine *engineAt(int64_t index);

/// The indices that a heuristic puts forward, the best first.
std::vector<int64_t> offered(const Graph &graph, cudnnBackendHeurMode_t mode);

/// A finalized execution plan.
struct Plan {
  std::shared_ptr<const Graph> graph;
  const Engine *engine = nullptr;
  int64_t workspace = 0;
  bool fails = false; ///< when it is executed
};

/// The plan of an engine; refuses where the engine does.
Plan planOf(std::shared_ptr<const Graph> graph, int64_t engine);

/// Runs it now; `pointers` are those of the tensors in memory.
void runPlan(const Plan &plan, const std::map<int64_t, void *> &pointers);

} // namespace lwcc::emulation::dnn

#endif // LWCC_TEST_CUDAEMULATION_CUDNNENGINES_H

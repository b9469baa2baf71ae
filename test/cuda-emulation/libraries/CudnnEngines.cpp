//===- CudnnEngines.cpp - The engines that run a graph --------------------===//

#include "test/cuda-emulation/libraries/CudnnEngines.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <algorithm>
#include <set>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

static constexpr int64_t plainEngine = 0;

static const std::vector<Engine> &engines() {
  constexpr auto modeA = CUDNN_HEUR_MODE_A, fallback = CUDNN_HEUR_MODE_FALLBACK;
  constexpr auto tensorCore = CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                 rounds = CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                 unordered = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
                 keepsNan = CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP,
                 fft = CUDNN_NUMERICAL_NOTE_FFT;
  static const std::vector<Engine> all = {
      {plainEngine, fallback, {}, false, 0, 0},
      {1, fallback, {unordered}, true, 0, 0},
      {2, modeA, {}, true, 1000, 0},
      {3, modeA, {keepsNan}, true, 256, 4},
      {4, modeA, {keepsNan}, true, 0, 0},
      {5, modeA, {unordered, keepsNan}, true, 20, 8},
      {6, modeA, {tensorCore, rounds}, true, 0, 0},
      {7, modeA, {tensorCore, rounds, keepsNan}, true, 4096, 4},
      // More workspace than a program should keep for it.
      {8, modeA, {fft}, false, int64_t(300) << 20, 0},
  };
  return all;
}

bool Engine::has(cudnnBackendNumericalNote_t note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

int64_t Engine::workspaceFor(const Graph &graph) const {
  int64_t elements = 1;
  for (int64_t extent : graph.tensors.at(graph.nodes.back().output).dims)
    elements *= extent;
  return workspace + workspacePerElement * elements;
}

const Engine *lwcc::emulation::dnn::engineAt(int64_t index) {
  for (const Engine &engine : engines())
    if (engine.index == index)
      return &engine;
  return nullptr;
}

/// Whether the engines can run it: a convolution of floats whose result, if
/// anything follows, is virtual and goes through pointwise operations.
static bool isKnown(const Graph &graph) {
  std::set<int64_t> made, read;
  for (const auto &[id, tensor] : graph.tensors)
    if (tensor.type != CUDNN_DATA_FLOAT || tensor.dims.size() != 4)
      return false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &node = graph.nodes[i];
    const GraphTensor &result = graph.tensors.at(node.output);
    if (node.computeType != CUDNN_DATA_FLOAT ||
        (node.kind == NodeKind::pointwise) != (i > 0) ||
        (i == 0 && result.isVirtual != (graph.nodes.size() > 1)))
      return false;
    for (int64_t id : node.inputs) {
      const GraphTensor &input = graph.tensors.at(id);
      if (input.isVirtual && !made.count(id))
        return false;
      read.insert(id);
      // What is added to a result stands for all its samples and places.
      for (size_t d = 0; i > 0 && d < 4; ++d)
        if (input.dims[d] != (made.count(id) || d == 1 ? result.dims[d] : 1))
          return false;
    }
    made.insert(node.output);
  }
  return std::none_of(graph.tensors.begin(), graph.tensors.end(),
                      [&](const auto &each) {
                        return each.second.isVirtual && !read.count(each.first);
                      });
}

std::vector<const Engine *>
lwcc::emulation::dnn::enginesFor(const Graph &graph) {
  std::vector<const Engine *> found;
  if (isKnown(graph))
    for (const Engine &engine : engines())
      if (engine.fuses || graph.nodes.size() == 1)
        found.push_back(&engine);
  return found;
}

/// True in one case of `cases`, depending on the graph and the engine.
static bool isDrawn(const Graph &graph, int64_t engine, uint64_t what,
                    uint64_t cases) {
  return libraryOptions().capricious && engine != plainEngine &&
         drawOf({graph.hash(), uint64_t(engine), what}) % cases == 0;
}

enum Draw : uint64_t { drawOrder, drawOffer, drawRefusal, drawFailure };

std::vector<int64_t>
lwcc::emulation::dnn::offered(const Graph &graph, cudnnBackendHeurMode_t mode) {
  std::vector<int64_t> indices;
  if (mode < 0 || mode >= CUDNN_HEUR_MODES_COUNT)
    return indices;
  // Modes A, B and instant are one here.
  for (const Engine *engine : enginesFor(graph))
    if ((engine->mode == CUDNN_HEUR_MODE_FALLBACK) ==
            (mode == CUDNN_HEUR_MODE_FALLBACK) &&
        !isDrawn(graph, engine->index, drawOffer, 3))
      indices.push_back(engine->index);
  const uint64_t hash = graph.hash();
  std::sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) {
    return drawOf({hash, uint64_t(a), drawOrder}) <
           drawOf({hash, uint64_t(b), drawOrder});
  });
  return indices;
}

Plan lwcc::emulation::dnn::planOf(std::shared_ptr<const Graph> graph,
                                  int64_t index) {
  auto known = enginesFor(*graph);
  auto at = std::find_if(known.begin(), known.end(), [&](const Engine *engine) {
    return engine->index == index;
  });
  if (at == known.end() || libraryOptions().refusedEngines.count(index) ||
      isDrawn(*graph, index, drawRefusal, 6))
    refuse(CUDNN_STATUS_NOT_SUPPORTED,
           "engine " + std::to_string(index) + " does not take this graph");
  Plan plan;
  plan.engine = *at;
  plan.workspace = plan.engine->workspaceFor(*graph);
  plan.fails = libraryOptions().failingEngines.count(index) ||
               isDrawn(*graph, index, drawFailure, 6);
  plan.graph = std::move(graph);
  return plan;
}

//===- RuntimeGraphs.cpp - CUDA's functions of captures and graphs --------===//

#include "World.h"

using namespace lwcc::emulation;

cudaError_t cudaStreamBeginCapture(cudaStream_t on,
                                   cudaStreamCaptureMode mode) {
  World &w = world();
  Stream &origin = streamOf(on);
  // CUDA allows captures side by side; nobody makes any.
  if (w.capture || origin.isDefault || origin.isDestroyed)
    return w.answer(cudaErrorStreamCaptureUnsupported);
  w.capture = std::make_shared<Capture>();
  w.capture->origin = &origin;
  w.capture->mode = mode;
  w.capture->graph->lanes.push_back({&origin, w.makeChain(), {}});
  origin.capture = w.capture;
  return cudaSuccess;
}

/// Whether what the origin has reached is all that was captured.
static bool isJoined(const Capture &capture) {
  const Graph &graph = *capture.graph;
  auto reached = capture.reached.find(capture.origin);
  for (size_t lane = 0; lane < graph.lanes.size(); ++lane) {
    auto own = capture.reached.find(graph.lanes[lane].stream);
    if (own == capture.reached.end())
      continue;
    uint32_t count = own->second.at(lane);
    if (reached == capture.reached.end() ? count > 0
                                         : reached->second.at(lane) < count)
      return false;
  }
  return true;
}

cudaError_t cudaStreamEndCapture(cudaStream_t on, cudaGraph_t *graph) {
  World &w = world();
  *graph = nullptr;
  Stream &origin = streamOf(on);
  if (!origin.capture)
    return w.answer(cudaErrorIllegalState);
  std::shared_ptr<Capture> capture = origin.capture;
  cudaError_t status = capture->origin != &origin
                           ? cudaErrorStreamCaptureUnmatched
                       : capture->isBroken   ? cudaErrorStreamCaptureInvalidated
                       : !isJoined(*capture) ? cudaErrorStreamCaptureUnjoined
                                             : cudaSuccess;
  for (Stream &stream : w.streams)
    stream.capture.reset();
  w.capture.reset();
  if (status)
    return w.answer(status);
  w.graphs.push_back(capture->graph);
  *graph = reinterpret_cast<cudaGraph_t>(capture->graph.get());
  return cudaSuccess;
}

static std::shared_ptr<Graph> graphAt(const void *handle) {
  for (const std::shared_ptr<Graph> &graph : world().graphs)
    if (graph.get() == handle)
      return graph;
  return nullptr;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *run, cudaGraph_t graph,
                                 unsigned long long flags) {
  World &w = world();
  std::shared_ptr<Graph> captured = graphAt(graph);
  if (!captured || flags)
    return w.answer(cudaErrorInvalidValue);
  // What is run stays as it is when the graph is destroyed.
  w.graphs.push_back(std::make_shared<Graph>(*captured));
  w.graphs.back()->isReady = true;
  *run = reinterpret_cast<cudaGraphExec_t>(w.graphs.back().get());
  return cudaSuccess;
}

static cudaError_t destroy(const void *handle) {
  World &w = world();
  if (!graphAt(handle))
    return w.answer(cudaErrorInvalidValue);
  w.graphs.remove_if([&](auto &graph) { return graph.get() == handle; });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t run) { return destroy(run); }

cudaError_t cudaGraphUpload(cudaGraphExec_t run, cudaStream_t) {
  return graphAt(run) ? cudaSuccess : world().answer(cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t on) {
  World &w = world();
  w.elapse();
  Stream &stream = streamOf(on);
  Item item;
  item.kind = Item::graph;
  item.what = graphAt(run);
  if (!item.what || !item.what->isReady || stream.isDestroyed)
    return w.answer(cudaErrorInvalidValue);
  // A graph in a graph is not emulated.
  if (stream.capture)
    return w.answer(cudaErrorStreamCaptureUnsupported);
  return w.answer(w.push(stream, std::move(item)));
}

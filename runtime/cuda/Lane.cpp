//===- Lane.cpp - Lanes and events on CUDA: streams and CUDA events -------===//

#include "runtime/cuda/CudaMachine.h"

#include <algorithm>
#include <utility>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

CudaLane::CudaLane(CudaMachine &machine, Gpu &gpu, int index,
                   const LaneSpec &spec)
    : machine(machine), gpu(gpu), index(index), device(spec.device),
      name(spec.name) {
  if (!machine.isLocal(device))
    return;
  gpu.use();
  // A smaller number is a greater priority.
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
        "asking for priorities of streams");
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     spec.use == LaneUse::urgent ? greatest
                                                                 : least),
        "making a stream");
}

CudaLane::~CudaLane() {
  if (stream)
    cudaStreamDestroy(stream);
}

void CudaLane::append(const char *op, Tensors results,
                      std::function<void()> run, int64_t workspaceBytes,
                      Tensors read) {
  if (machine.isLocal(device))
    workspaceNeeded = std::max(workspaceNeeded, workspaceBytes);
  machine.append({this, currentLayer, currentPhase, op, std::move(results),
                  std::move(run), std::move(read), workspaceBytes});
}

void CudaLane::launch(const void *kernel, dim3 grid, dim3 block,
                      void **arguments) {
  if (loading) {
    // Kernels are loaded when first used, which a capture must not do; this
    // also finds out early that there is none for this GPU.
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    return;
  }
  check(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream),
        "launching a kernel");
}

unsigned CudaLane::blocksFor(int64_t items, int threads) const {
  int64_t blocks = (items + threads - 1) / threads;
  int64_t enough = int64_t(gpu.processors) * 32;
  return static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, enough));
}

CudaEvent::~CudaEvent() {
  for (auto [gpu, event] : events)
    cudaEventDestroy(event);
}

void CudaEvent::record(Lane &on) {
  CudaLane &lane = cudaLane(on);
  Sequence::Step step{&lane, "", "", nullptr, {}, {}, {}};
  step.event = this;
  step.isRecord = true;
  current = nullptr;
  if (lane.machine.isLocal(lane.device)) {
    cudaEvent_t &event = events[&lane.gpu];
    if (!event) {
      lane.gpu.use();
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
            "making an event");
    }
    current = event;
    step.run = [event, &lane] {
      check(cudaEventRecord(event, lane.stream), "recording an event");
    };
  }
  lane.machine.append(std::move(step));
}

void CudaEvent::wait(Lane &on) {
  CudaLane &lane = cudaLane(on);
  assert((current || lane.machine.ranks()) &&
         "an event is recorded before it is waited for");
  Sequence::Step step{&lane, "", "", nullptr, {}, {}, {}};
  step.event = this;
  if (current && lane.machine.isLocal(lane.device))
    step.run = [event = current, &lane] {
      check(cudaStreamWaitEvent(lane.stream, event, 0), "waiting for an event");
    };
  lane.machine.append(std::move(step));
}

Sequence::~Sequence() {
  if (graph)
    cudaGraphExecDestroy(graph);
  for (auto [before, after] : timers)
    if (before) {
      cudaEventDestroy(before);
      cudaEventDestroy(after);
    }
}

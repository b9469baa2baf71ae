//===- Run.cpp - Recording and running sequences on CUDA ------------------===//
//
// From the list of closures that is recorded to a CUDA graph, and its runs.
// Traced runs are in Trace.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/Nvtx.h"

#include <cstdio>
#include <map>
#include <utility>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void CudaMachine::append(Sequence::Step step) {
  assert(recording && "operators are appended inside Machine::record");
  recording->steps.push_back(std::move(step));
}

Sequence *CudaMachine::record(const char *name,
                              const std::function<void()> &body) {
  auto sequence = std::make_unique<Sequence>();
  sequence->name = name;
  struct Recording {
    CudaMachine &machine;
    Recording(CudaMachine &machine, Sequence *into) : machine(machine) {
      machine.recording = into;
    }
    ~Recording() { machine.recording = nullptr; }
  };
  std::unique_lock lock(calls);
  if (team)
    settle(); // images may be pinned anew
  {
    Recording scope(*this, sequence.get());
    for (auto &lane : lanes)
      lane->layer("", "");
    body();
  }
  if (separatesWorkspaces)
    makeOwnWorkspaces(*sequence);
  for (auto &lane : lanes)
    if (lane->workspaceNeeded > 0 &&
        (lane->workspaces.empty() ||
         lane->workspaces.back().bytes() < lane->workspaceNeeded))
      lane->workspaces.emplace_back(lane->gpu, lane->workspaceNeeded,
                                    "workspace of a lane");
  loadKernels(*sequence);
  if (team)
    shareRecorded(*sequence);
  if (graphs != GraphUse::never)
    try {
      capture(*sequence);
    } catch (const Error &error) {
      if (graphs == GraphUse::always)
        throw;
      // Not sticky, unless the GPU is lost: then the next call says so.
      cudaGetLastError();
      if (sequence->graph)
        cudaGraphExecDestroy(std::exchange(sequence->graph, nullptr));
      graphs = GraphUse::never;
      std::fprintf(stderr,
                   "note: runs without CUDA graphs, slower; none could be made "
                   "of %s: %s\n",
                   name, error.what());
    }
  return sequences.emplace_back(std::move(sequence)).get();
}

void CudaMachine::makeOwnWorkspaces(Sequence &sequence) {
  for (Sequence::Step &step : sequence.steps)
    if (step.workspaceBytes > 0 && isLocal(step.lane->device)) {
      step.lane->gpu.use();
      step.ownWorkspace =
          sequence.ownWorkspaces
              .emplace_back(step.lane->gpu, step.workspaceBytes,
                            "workspace of an operator", /*zeroed=*/false)
              .data();
    }
}

void CudaMachine::call(const Sequence::Step &step) const {
  step.lane->hasOwn = separatesWorkspaces;
  step.lane->own = step.ownWorkspace;
  step.run();
}

void CudaMachine::loadKernels(Sequence &sequence) {
  for (auto &lane : lanes)
    lane->loading = true;
  for (Sequence::Step &step : sequence.steps)
    if (step.op && isLocal(step.lane->device)) {
      step.lane->gpu.use();
      call(step);
    }
  for (auto &lane : lanes)
    lane->loading = false;
}

void CudaMachine::perform(const Sequence::Step &step) {
  step.lane->gpu.use();
  if (!step.op)
    return call(step);
  try {
    call(step);
    if (synchronizesSteps)
      check(cudaStreamSynchronize(step.lane->stream), "running it");
  } catch (const Error &error) {
    std::string phase = *step.phase ? std::string(", ") + step.phase : "";
    throw Error(std::string(step.op) + " of layer " + step.layer + phase +
                ": " + error.what());
  }
}

namespace {
/// Events that order some work once; what waits for them may still be to come
/// when they are destroyed.
class OrderingEvents {
public:
  OrderingEvents() = default;
  OrderingEvents(const OrderingEvents &) = delete;
  ~OrderingEvents() {
    for (cudaEvent_t event : events)
      cudaEventDestroy(event);
  }
  cudaEvent_t make(const Gpu &gpu) {
    gpu.use();
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
          "making an event");
    return events.emplace_back(event);
  }

private:
  std::vector<cudaEvent_t> events;
};
} // namespace

/// All lanes fork from the first device's stream and join it again, so that a
/// capture sees one graph, of several devices if need be, and what follows on
/// that stream follows all lanes.
void CudaMachine::enqueue(const std::function<void()> &starts) {
  std::vector<CudaLane *> own;
  for (auto &lane : lanes)
    if (isLocal(lane->device))
      own.push_back(lane.get());
  for (Leaving &beside : leaving)
    if (beside.lane)
      own.push_back(beside.lane.get());
  OrderingEvents ordering;
  cudaEvent_t fork = ordering.make(*origin().gpu);
  check(cudaEventRecord(fork, origin().stream), "forking the lanes");
  for (CudaLane *lane : own) {
    lane->gpu.use();
    check(cudaStreamWaitEvent(lane->stream, fork, 0), "forking the lanes");
  }
  starts();
  for (CudaLane *lane : own) {
    cudaEvent_t join = ordering.make(lane->gpu);
    check(cudaEventRecord(join, lane->stream), "joining the lanes");
    check(cudaStreamWaitEvent(origin().stream, join, 0), "joining the lanes");
  }
}

void CudaMachine::performAll(const Sequence &sequence) {
  for (const Sequence::Step &step : sequence.steps)
    perform(step);
}

CudaMachine::Device &CudaMachine::origin() {
  size_t first = 0;
  while (!isLocal(static_cast<int>(first)))
    ++first;
  return devices.at(first);
}

void CudaMachine::capture(Sequence &sequence) {
  std::map<Gpu *, int64_t> before;
  for (Device &device : devices)
    before[device.gpu] = device.gpu->bytesFree();
  Device &origin = this->origin();
  origin.gpu->use();
  cudaGraph_t graph = nullptr;
  // Relaxed: libraries may load code while they are captured.
  check(cudaStreamBeginCapture(origin.stream, cudaStreamCaptureModeRelaxed),
        "starting a graph");
  try {
    enqueue([&] { performAll(sequence); });
    origin.gpu->use();
    check(cudaStreamEndCapture(origin.stream, &graph), "ending a graph");
  } catch (...) {
    // Leaves capture mode on all streams; what it returns is of no interest.
    cudaStreamEndCapture(origin.stream, &graph);
    if (graph)
      cudaGraphDestroy(graph);
    throw;
  }
  cudaError_t status = cudaGraphInstantiate(&sequence.graph, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "making a graph");
  check(cudaGraphUpload(sequence.graph, origin.stream), "loading a graph");
  check(cudaStreamSynchronize(origin.stream), "loading a graph");
  for (auto [gpu, bytes] : before) {
    auto first = std::find_if(devices.begin(), devices.end(),
                              [&](Device &d) { return d.gpu == gpu; });
    first->graphBytes += std::max<int64_t>(0, bytes - gpu->bytesFree());
  }
}

void CudaMachine::run(Sequence *sequence) {
  std::unique_lock lock(calls);
  ++sequence->runs;
  ProfilerRange range(sequence->name.c_str());
  if (team)
    return runShared(
        *sequence, [this](const Sequence::Step &step) { perform(step); }, lock);
  if (!sequence->graph)
    return enqueue([&] { performAll(*sequence); });
  origin().gpu->use();
  check(cudaGraphLaunch(sequence->graph, origin().stream), "starting a run");
}

void CudaMachine::settle() {
  // All other streams are joined into the first device's.
  origin().gpu->use();
  check(cudaStreamSynchronize(origin().stream), "running the program");
}

void CudaMachine::synchronize() {
  {
    std::lock_guard lock(calls);
    settle();
  }
  throwIfStopped();
}

void CudaMachine::runObserved(Sequence *sequence, const Observer &after) {
  assert(!team && "other ranks would have to go along");
  synchronize();
  for (Sequence::Step &step : sequence->steps) {
    // One at a time, in the order of appending: events have nothing to order.
    if (!step.op)
      continue;
    ProfilerRange layer(*step.layer ? step.layer : step.op);
    perform(step);
    std::string where = std::string(step.op) + " of layer " + step.layer;
    check(cudaStreamSynchronize(step.lane->stream), where.c_str());
    after(step.layer, step.phase, step.op, step.results.data(),
          static_cast<int>(step.results.size()));
  }
}

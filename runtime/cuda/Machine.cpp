//===- Machine.cpp - Devices, lanes and recorded sequences on CUDA --------===//
//
// Creation, recording and running. Transfers between host and device are in
// Transfer.cpp, traced runs in Trace.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/Nvtx.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

DeviceBuffer::DeviceBuffer(const Gpu &gpu, int64_t bytes, const char *what) {
  if (bytes == 0)
    return;
  int64_t available = gpu.bytesFree();
  auto tooLittle = [&] {
    return Error("GPU " + std::to_string(gpu.id) + " (" + gpu.name +
                 ") has too little memory for the " + what + ": needs " +
                 bytesText(bytes) + ", available " + bytesText(available) +
                 "; free memory on it or compile with a smaller --batch");
  };
  if (bytes > available)
    throw tooLittle();
  void *memory = nullptr;
  cudaError_t status = cudaMalloc(&memory, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError(); // not sticky: clears it
    throw tooLittle();
  }
  check(status, "allocating memory");
  pointer = static_cast<char *>(memory);
  size = bytes;
  check(cudaMemset(pointer, 0, static_cast<size_t>(bytes)), "clearing memory");
  // On a stream that no lane waits for.
  check(cudaDeviceSynchronize(), "clearing memory");
}

DeviceBuffer::~DeviceBuffer() {
  if (pointer)
    cudaFree(pointer);
}

//===----------------------------------------------------------------------===//
// Lanes and events
//===----------------------------------------------------------------------===//

CudaLane::CudaLane(CudaMachine &machine, Gpu &gpu, int index, int device,
                   std::string name)
    : machine(machine), gpu(gpu), index(index), device(device),
      name(std::move(name)) {
  gpu.use();
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "making a stream");
}

CudaLane::~CudaLane() {
  if (stream)
    cudaStreamDestroy(stream);
}

void CudaLane::append(const char *op, Tensors results,
                      std::function<void()> run, int64_t workspaceBytes,
                      Tensors read) {
  workspaceNeeded = std::max(workspaceNeeded, workspaceBytes);
  machine.append({this, currentLayer, currentPhase, op, std::move(results),
                  std::move(run), std::move(read)});
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
  cudaEvent_t &event = events[&lane.gpu];
  if (!event) {
    lane.gpu.use();
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
          "making an event");
  }
  current = event;
  auto run = [event, &lane] {
    check(cudaEventRecord(event, lane.stream), "recording an event");
  };
  lane.machine.append({&lane, "", "", nullptr, {}, run, {}});
}

void CudaEvent::wait(Lane &on) {
  CudaLane &lane = cudaLane(on);
  assert(current && "an event is recorded before it is waited for");
  auto run = [event = current, &lane] {
    check(cudaStreamWaitEvent(lane.stream, event, 0), "waiting for an event");
  };
  lane.machine.append({&lane, "", "", nullptr, {}, run, {}});
}

Sequence::~Sequence() {
  if (graph)
    cudaGraphExecDestroy(graph);
  for (auto [before, after] : timers) {
    cudaEventDestroy(before);
    cudaEventDestroy(after);
  }
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

std::unique_ptr<Machine> Machine::create(const MachineSpec &spec,
                                         const MachineOptions &options) {
  return std::make_unique<CudaMachine>(spec, options);
}

CudaMachine::CudaMachine(const MachineSpec &spec, const MachineOptions &options)
    : spec(spec), options(options),
      synchronizesSteps(isSet("LWCC_SYNC", std::getenv("LWCC_SYNC"))) {
  graphs =
      synchronizesSteps ? GraphUse::never : graphUse(std::getenv("LWCC_GRAPH"));
  int present = countGpus();
  std::vector<int> physical =
      physicalDevices(std::getenv("LWCC_DEVICES"),
                      static_cast<int>(spec.devices.size()), present);
  std::map<int, Gpu *> byId;
  for (size_t d = 0; d < physical.size(); ++d) {
    Gpu *&gpu = byId[physical[d]];
    if (!gpu)
      gpu = gpus.emplace_back(std::make_unique<Gpu>(physical[d])).get();
    devices.emplace_back();
    devices.back().gpu = gpu;
  }
  // All arenas before anything is allocated, so that the message is about the
  // program and not about its last piece.
  for (const auto &gpu : gpus) {
    int64_t needed = 0, available = gpu->bytesFree();
    for (size_t d = 0; d < devices.size(); ++d)
      if (devices[d].gpu == gpu.get())
        needed += spec.devices[d].arenaBytes;
    if (needed > available)
      throw Error("GPU " + std::to_string(gpu->id) + " (" + gpu->name +
                  ") has too little memory: the program needs " +
                  bytesText(needed) + ", available " + bytesText(available) +
                  "; free memory on it or compile with a smaller --batch");
  }
  enablePeerAccess();
  for (size_t d = 0; d < devices.size(); ++d) {
    Device &device = devices[d];
    device.gpu->use();
    device.arena = DeviceBuffer(*device.gpu, spec.devices[d].arenaBytes,
                                "program's tensors");
    check(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking),
          "making a stream");
    check(cudaStreamCreateWithFlags(&device.uploads, cudaStreamNonBlocking),
          "making a stream");
    check(cudaEventCreateWithFlags(&device.order, cudaEventDisableTiming),
          "making an event");
  }
  for (const LaneSpec &lane : spec.lanes)
    lanes.push_back(std::make_unique<CudaLane>(
        *this, *devices.at(lane.device).gpu, static_cast<int>(lanes.size()),
        lane.device, lane.name));
  for (int e = 0; e < spec.events; ++e)
    events.push_back(std::make_unique<CudaEvent>());
}

CudaMachine::~CudaMachine() {
  for (Device &device : devices)
    for (cudaStream_t stream : {device.uploads, device.stream})
      if (stream)
        cudaStreamSynchronize(stream);
  sequences.clear();
  uploads.clear();
  for (cudaEvent_t ticket : tickets)
    cudaEventDestroy(ticket);
  for (void *memory : pinned)
    cudaFreeHost(memory);
  for (Device &device : devices) {
    if (device.order)
      cudaEventDestroy(device.order);
    for (cudaStream_t stream : {device.uploads, device.stream})
      if (stream)
        cudaStreamDestroy(stream);
  }
}

std::string CudaMachine::describe() const {
  std::string text;
  for (size_t d = 0; d < devices.size(); ++d) {
    const Gpu &gpu = *devices[d].gpu;
    text +=
        (d ? ", " : "") + gpu.name + " (sm_" + std::to_string(gpu.arch) + ")";
  }
  return text;
}

int64_t CudaMachine::bytesHeld(int index) const {
  const Device &device = devices.at(index);
  int64_t bytes = device.arena.bytes() + device.graphBytes;
  for (const DeviceBuffer &buffer : device.uploadBuffers)
    bytes += buffer.bytes();
  for (const auto &lane : lanes)
    if (lane->device == index)
      for (const DeviceBuffer &workspace : lane->workspaces)
        bytes += workspace.bytes();
  // Libraries are counted with the first of the devices that share a GPU.
  auto first = std::find_if(devices.begin(), devices.end(), [&](auto &other) {
    return other.gpu == device.gpu;
  });
  if (first - devices.begin() == index)
    bytes += device.gpu->libraryBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

void CudaMachine::append(Sequence::Step step) {
  assert(recording && "operators are appended inside Machine::record");
  recording->steps.push_back(std::move(step));
}

int CudaMachine::deviceOf(const void *address) const {
  auto at = static_cast<const char *>(address);
  for (size_t d = 0; d < devices.size(); ++d) {
    const DeviceBuffer &arena = devices[d].arena;
    if (at >= arena.data() && at < arena.data() + arena.bytes())
      return static_cast<int>(d);
  }
  assert(false && "a tensor lies in no device's arena");
  return 0;
}

/// Kernels of one GPU read the memory of the others, where a program says so.
void CudaMachine::enablePeerAccess() {
  for (const auto &gpu : gpus)
    for (const auto &peer : gpus) {
      if (gpu == peer)
        continue;
      int possible = 0;
      check(cudaDeviceCanAccessPeer(&possible, gpu->id, peer->id),
            "asking for peer access");
      if (!possible)
        throw Error("GPU " + std::to_string(gpu->id) +
                    " cannot read the memory of GPU " +
                    std::to_string(peer->id) +
                    " (no NVLink or PCIe peer access between them); choose "
                    "others with LWCC_DEVICES, or compile for fewer --gpus");
      gpu->use();
      cudaError_t status = cudaDeviceEnablePeerAccess(peer->id, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError(); // not sticky: clears it
      else
        check(status, "enabling peer access");
    }
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
  {
    Recording scope(*this, sequence.get());
    for (auto &lane : lanes)
      lane->layer("", "");
    body();
  }
  for (auto &lane : lanes)
    if (lane->workspaceNeeded > 0 &&
        (lane->workspaces.empty() ||
         lane->workspaces.back().bytes() < lane->workspaceNeeded))
      lane->workspaces.emplace_back(lane->gpu, lane->workspaceNeeded,
                                    "workspace of a lane");
  loadKernels(*sequence);
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

void CudaMachine::loadKernels(Sequence &sequence) {
  for (auto &lane : lanes)
    lane->loading = true;
  for (Sequence::Step &step : sequence.steps)
    if (step.op) {
      step.lane->gpu.use();
      step.run();
    }
  for (auto &lane : lanes)
    lane->loading = false;
}

void CudaMachine::perform(const Sequence::Step &step) {
  step.lane->gpu.use();
  if (!step.op)
    return step.run();
  try {
    step.run();
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
void CudaMachine::enqueue(const Sequence &sequence) {
  Device &origin = devices.at(0);
  OrderingEvents ordering;
  cudaEvent_t fork = ordering.make(*origin.gpu);
  check(cudaEventRecord(fork, origin.stream), "forking the lanes");
  for (auto &lane : lanes) {
    lane->gpu.use();
    check(cudaStreamWaitEvent(lane->stream, fork, 0), "forking the lanes");
  }
  for (const Sequence::Step &step : sequence.steps)
    perform(step);
  for (auto &lane : lanes) {
    cudaEvent_t join = ordering.make(lane->gpu);
    check(cudaEventRecord(join, lane->stream), "joining the lanes");
    check(cudaStreamWaitEvent(origin.stream, join, 0), "joining the lanes");
  }
}

void CudaMachine::capture(Sequence &sequence) {
  std::map<Gpu *, int64_t> before;
  for (Device &device : devices)
    before[device.gpu] = device.gpu->bytesFree();
  Device &origin = devices.at(0);
  origin.gpu->use();
  cudaGraph_t graph = nullptr;
  // Relaxed: libraries may load code while they are captured.
  check(cudaStreamBeginCapture(origin.stream, cudaStreamCaptureModeRelaxed),
        "starting a graph");
  try {
    enqueue(sequence);
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

std::vector<Traffic> CudaMachine::traffic() {
  synchronize();
  std::map<std::pair<int, int>, int64_t> bytes;
  for (const auto &sequence : sequences)
    for (const Sequence::Step &step : sequence->steps)
      for (const Tensor &read : step.read)
        if (int from = deviceOf(read.data); from != step.lane->device)
          bytes[{from, step.lane->device}] += sequence->runs * read.bytes();
  std::vector<Traffic> moved;
  for (const auto &[pair, sum] : bytes)
    moved.push_back({pair.first, pair.second, sum});
  return moved;
}

void CudaMachine::run(Sequence *sequence) {
  ++sequence->runs;
  ProfilerRange range(sequence->name.c_str());
  if (!sequence->graph)
    return enqueue(*sequence);
  Device &origin = devices.at(0);
  origin.gpu->use();
  check(cudaGraphLaunch(sequence->graph, origin.stream), "starting a run");
}

void CudaMachine::synchronize() {
  // All other streams are joined into the first device's.
  devices.at(0).gpu->use();
  check(cudaStreamSynchronize(devices.at(0).stream), "running the program");
}

void CudaMachine::runObserved(Sequence *sequence, const Observer &after) {
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

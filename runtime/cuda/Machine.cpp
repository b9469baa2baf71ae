//===- Machine.cpp - Making and describing a CUDA machine -----------------===//
//
// Devices and their memory. Lanes and events are in Lane.cpp, sequences in
// Run.cpp, transfers between host and device in Transfer.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMachine.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

DeviceBuffer::DeviceBuffer(const Gpu &gpu, int64_t bytes, const char *what,
                           bool zeroed) {
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
  if (!zeroed)
    return;
  check(cudaMemset(pointer, 0, static_cast<size_t>(bytes)), "clearing memory");
  // On a stream that no lane waits for.
  check(cudaDeviceSynchronize(), "clearing memory");
}

DeviceBuffer::~DeviceBuffer() {
  if (pointer)
    cudaFree(pointer);
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

std::unique_ptr<Machine> Machine::create(const MachineSpec &spec,
                                         const MachineOptions &options) {
  return std::make_unique<CudaMachine>(spec, options);
}

CudaMachine::CudaMachine(const MachineSpec &spec, const MachineOptions &options)
    : spec(spec), options(options), team(options.ranks),
      synchronizesSteps(isSet("LWCC_SYNC", std::getenv("LWCC_SYNC"))),
      separatesWorkspaces(
          isSet("LWCC_OWN_WORKSPACES", std::getenv("LWCC_OWN_WORKSPACES"))) {
  graphs = graphUse(std::getenv("LWCC_GRAPH"));
  if (team && graphs == GraphUse::always)
    throw Error("LWCC_GRAPH is 1, but several ranks run without CUDA graphs "
                "(their steps are started as what they read arrives)");
  if (team || synchronizesSteps)
    graphs = GraphUse::never;
  makeDevices();
  makeLanes();
  for (int e = 0; e < spec.events; ++e)
    events.push_back(std::make_unique<CudaEvent>(e));
  if (!team)
    return;
  heard.resize(events.size());
  exchange = std::make_unique<RankExchange>(*team);
}

void CudaMachine::makeDevices() {
  const int present = countGpus();
  const char *choice = std::getenv("LWCC_DEVICES");
  const auto count = static_cast<int>(spec.devices.size());
  const std::vector<int> physical =
      team ? physicalDevicesOfRank(choice, *team, present,
                                   std::getenv("CUDA_VISIBLE_DEVICES"))
           : physicalDevices(choice, count, present);
  std::map<int, Gpu *> byId;
  for (int number : physical) {
    devices.emplace_back();
    if (number < 0) // another rank's
      continue;
    Gpu *&gpu = byId[number];
    if (!gpu)
      gpu = gpus.emplace_back(std::make_unique<Gpu>(number)).get();
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
  for (int d = 0; d < count; ++d) {
    Device &device = devices[d];
    if (!isLocal(d)) {
      device.gpu = gpus.front().get();
      device.image = HostImage(spec.devices[d].arenaBytes);
      continue;
    }
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
}

void CudaMachine::makeLanes() {
  auto make = [&](const LaneSpec &lane) {
    return std::make_unique<CudaLane>(*this, *devices.at(lane.device).gpu,
                                      static_cast<int>(lanes.size()), lane);
  };
  for (const LaneSpec &lane : spec.lanes) {
    if (team) {
      Leaving &beside = leaving.emplace_back();
      if (isLocal(lane.device)) {
        beside.lane = make({lane.device, lane.name, LaneUse::copies});
        check(cudaEventCreateWithFlags(&beside.written, cudaEventDisableTiming),
              "making an event");
      }
    }
    lanes.push_back(make(lane));
  }
}

CudaMachine::~CudaMachine() {
  for (Device &device : devices)
    for (cudaStream_t stream : {device.uploads, device.stream})
      if (stream)
        cudaStreamSynchronize(stream);
  for (Leaving &beside : leaving) {
    if (beside.lane) // what is sent, even where a run has failed
      cudaStreamSynchronize(beside.lane->stream);
    if (beside.written)
      cudaEventDestroy(beside.written);
  }
  exchange.reset();
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
  for (size_t d = 0; d < devices.size(); ++d)
    if (isLocal(static_cast<int>(d))) {
      const Gpu &gpu = *devices[d].gpu;
      text += (text.empty() ? "" : ", ") + gpu.name + " (sm_" +
              std::to_string(gpu.arch) + ")";
    }
  if (team)
    text += " as rank " + std::to_string(team->rank) + " of " +
            std::to_string(team->count);
  return text;
}

int64_t CudaMachine::bytesHeld(int index) const {
  const Device &device = devices.at(index);
  if (!isLocal(index))
    return spec.devices[index].arenaBytes; // and what only its rank knows
  int64_t bytes = device.arena.bytes() + device.graphBytes;
  for (const DeviceBuffer &buffer : device.uploadBuffers)
    bytes += buffer.bytes();
  for (const auto &lane : lanes)
    if (lane->device == index)
      for (const DeviceBuffer &workspace : lane->workspaces)
        bytes += workspace.bytes();
  // Libraries are counted with the first of the devices that share a GPU.
  auto first = std::find_if(devices.begin(), devices.end(), [&](auto &other) {
    return other.gpu == device.gpu && other.stream;
  });
  if (first - devices.begin() == index)
    bytes += device.gpu->libraryBytes();
  return bytes;
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

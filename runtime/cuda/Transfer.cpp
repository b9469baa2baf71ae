//===- Transfer.cpp - Between host and device, and between devices --------===//
//
// Copies between host and device. Rank-4 tensors of a device are channels-last.
// read() and write(), which wait, have row-major tensors on the host's side and
// convert there. readAsync() and writeAsync() convert nothing; a large
// writeAsync() goes ahead of its run (Upload.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HostCopy.h"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

/// How many transfers may be waited for one by one; older tickets wait for a
/// later transfer.
static constexpr size_t ticketCount = 64;

/// The host's view of a tensor.
static Tensor hostView(const Tensor &like, void *host) {
  return Tensor(host, like.type, like.dim.data(), like.rank, Layout::dense);
}

static bool lieAlike(const Tensor &a, const Tensor &b) {
  LoopNest<2> nest = copyNest(a, b);
  return nest.rank == 1 && nest.stride[0][0] == nest.stride[1][0] &&
         (nest.stride[0][0] == 1 || nest.extent[0] == 1);
}

int64_t CudaMachine::offsetIn(int device, const Tensor &tensor) {
  return tensor.as<char>() - arena(device);
}

void CudaMachine::read(Tensor source, int device, void *host) {
  const Tensor target = hostView(source, host);
  const bool isSame = lieAlike(target, source);
  auto bytes = static_cast<size_t>(source.bytes());
  std::vector<char> image(isSame ? 0 : bytes);
  void *stored = isSame ? host : image.data();
  if (isLocal(device)) {
    synchronize();
    std::lock_guard lock(calls);
    devices.at(device).gpu->use();
    check(cudaMemcpy(stored, source.data, bytes, cudaMemcpyDeviceToHost),
          "reading a tensor");
  } else {
    assert(team->remote && "only rank 0 reads the devices of others");
    team->remote->await(
        team->remote->askFor(device, offsetIn(device, source), source.bytes()),
        stored);
  }
  if (isSame)
    return;
  source.data = stored;
  copyOnHost(target, source);
}

void CudaMachine::write(Tensor target, int device, const void *host) {
  auto bytes = static_cast<size_t>(target.bytes());
  const Tensor source = hostView(target, const_cast<void *>(host));
  std::vector<char> image;
  if (!lieAlike(target, source)) {
    image.resize(bytes);
    Tensor converted = target;
    converted.data = image.data();
    copyOnHost(converted, source);
    host = image.data();
  }
  if (!isLocal(device))
    return team->remote->write(device, offsetIn(device, target), host,
                               target.bytes());
  synchronize();
  std::lock_guard lock(calls);
  devices.at(device).gpu->use();
  check(cudaMemcpy(target.data, host, bytes, cudaMemcpyHostToDevice),
        "writing a tensor");
  // From pageable memory cudaMemcpy may return before the device has it, on a
  // stream that the lanes do not wait for.
  check(cudaDeviceSynchronize(), "writing a tensor");
}

void CudaMachine::inOrder(int index,
                          const std::function<void(cudaStream_t)> &transfer) {
  Device &origin = this->origin(), &device = devices.at(index);
  const bool isOrigin = &device == &origin;
  if (!isOrigin) {
    origin.gpu->use();
    check(cudaEventRecord(origin.order, origin.stream), "ordering a transfer");
    device.gpu->use();
    check(cudaStreamWaitEvent(device.stream, origin.order, 0),
          "ordering a transfer");
  }
  device.gpu->use();
  transfer(device.stream);
  if (!isOrigin) {
    check(cudaEventRecord(device.order, device.stream), "ordering a transfer");
    check(cudaStreamWaitEvent(origin.stream, device.order, 0),
          "ordering a transfer");
  }
}

void CudaMachine::expectWrites(Tensor target, int index) {
  if (!isLocal(index)) // its rank makes ready
    return;
  std::lock_guard lock(calls);
  const std::pair key(target.data, target.bytes());
  if (target.bytes() < Upload::leastBytes || uploads.count(key))
    return;
  Device &device = devices.at(index);
  device.gpu->use();
  std::array<void *, Upload::bufferCount> memory;
  for (void *&buffer : memory)
    buffer = device.uploadBuffers
                 .emplace_back(*device.gpu, target.bytes(),
                               "batches that are sent ahead")
                 .data();
  uploads.try_emplace(key, target.data, target.bytes(), memory);
}

void CudaMachine::writeAsync(Tensor target, int index, const void *host) {
  if (!isLocal(index))
    return team->remote->write(index, offsetIn(index, target), host,
                               target.bytes());
  std::lock_guard lock(calls);
  Device &device = devices.at(index);
  auto upload = uploads.find({target.data, target.bytes()});
  if (upload == uploads.end())
    return inOrder(index, [&](cudaStream_t stream) {
      check(cudaMemcpyAsync(target.data, host,
                            static_cast<size_t>(target.bytes()),
                            cudaMemcpyHostToDevice, stream),
            "writing a tensor");
    });
  device.gpu->use();
  upload->second.begin(host, device.uploads);
  inOrder(index, [&](cudaStream_t stream) { upload->second.finish(stream); });
}

int64_t CudaMachine::readAsync(Tensor source, int device, void *host) {
  std::lock_guard lock(calls);
  if (!isLocal(device)) { // asked now, before the other rank runs more
    const int64_t request =
        team->remote->askFor(device, offsetIn(device, source), source.bytes());
    remoteReads.emplace(lastTicket + 1, RemoteRead{request, host});
  } else {
    inOrder(device, [&](cudaStream_t stream) {
      check(cudaMemcpyAsync(host, source.data,
                            static_cast<size_t>(source.bytes()),
                            cudaMemcpyDeviceToHost, stream),
            "reading a tensor");
    });
  }
  origin().gpu->use();
  if (tickets.size() < ticketCount) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming |
                                               cudaEventBlockingSync),
          "making an event");
    tickets.push_back(event);
  }
  check(cudaEventRecord(tickets[static_cast<size_t>(lastTicket) % ticketCount],
                        origin().stream),
        "reading a tensor");
  return ++lastTicket;
}

/// Looks for a while, then sleeps: to be woken costs as long as many a step.
static cudaError_t waitFor(cudaEvent_t event) {
  constexpr auto patience = std::chrono::microseconds(100);
  const auto begin = Clock::now();
  do {
    cudaError_t status = cudaEventQuery(event);
    if (status != cudaErrorNotReady)
      return status;
  } while (Clock::now() - begin < patience);
  return cudaEventSynchronize(event);
}

/// The same where another thread starts the steps of a run meanwhile.
static cudaError_t waitFor(cudaEvent_t event, std::mutex &calls) {
  constexpr auto pause = std::chrono::microseconds(50);
  while (true) {
    {
      std::lock_guard lock(calls);
      cudaError_t status = cudaEventQuery(event);
      if (status != cudaErrorNotReady)
        return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

Clock::time_point CudaMachine::wait(int64_t ticket) {
  if (ticket == 0)
    return Clock::now();
  cudaEvent_t event = nullptr;
  std::vector<RemoteRead> reads;
  {
    std::lock_guard lock(calls);
    assert(ticket <= lastTicket && "no such ticket");
    event = tickets[static_cast<size_t>(ticket - 1) % ticketCount];
    auto end = remoteReads.upper_bound(ticket);
    for (auto at = remoteReads.begin(); at != end; ++at)
      reads.push_back(at->second);
    remoteReads.erase(remoteReads.begin(), end);
  }
  check(team ? waitFor(event, calls) : waitFor(event), "running the program");
  throwIfStopped(); // what was read is not what the run would have written
  for (const RemoteRead &read : reads)
    team->remote->await(read.request, read.host);
  return Clock::now();
}

void *CudaMachine::allocatePinned(int64_t bytes, unsigned flags) {
  void *memory = nullptr;
  auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  check(cudaHostAlloc(&memory, size, flags), "allocating pinned host memory");
  std::memset(memory, 0, size);
  return pinned.emplace_back(memory);
}

void *CudaMachine::hostAlloc(int64_t bytes) {
  std::lock_guard lock(calls);
  return allocatePinned(bytes, cudaHostAllocPortable);
}

int CudaMachine::deviceOf(const void *address) const {
  auto at = static_cast<const char *>(address);
  auto isIn = [at](const auto &memory) {
    return at >= memory.data() && at < memory.data() + memory.bytes();
  };
  for (size_t d = 0; d < devices.size(); ++d)
    if (isIn(devices[d].arena) || isIn(devices[d].image))
      return static_cast<int>(d);
  assert(false && "a tensor lies in no device's arena");
  return 0;
}

std::vector<MovedBytes> CudaMachine::movedBytes() {
  synchronize();
  std::lock_guard lock(calls);
  std::map<std::pair<int, int>, int64_t> bytes;
  for (const auto &sequence : sequences)
    for (const Sequence::Step &step : sequence->steps)
      for (const Tensor &read : step.read)
        if (int from = deviceOf(read.data);
            from != step.lane->device && isLocal(step.lane->device))
          bytes[{from, step.lane->device}] += sequence->runs * read.bytes();
  std::vector<MovedBytes> moved;
  for (const auto &[pair, sum] : bytes)
    moved.push_back({pair.first, pair.second, sum});
  return moved;
}

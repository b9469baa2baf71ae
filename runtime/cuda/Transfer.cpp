//===- Transfer.cpp - Copies between the host and the devices -------------===//
//
// The host's side is always row-major over logical indices; a device's rank-4
// tensors are channels-last. Copies that wait convert on the host. Those that
// do not wait are made by a kernel that reaches into the pinned memory, unless
// both sides lie alike.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StridedCopy.h"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>
#include <cstring>

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

template <typename T>
static void copyOnHost(const LoopNest<2> &nest, T *to, const T *from) {
  int inner = nest.rank - 1;
  int64_t extent = nest.extent[inner];
  for (int64_t i = 0, n = iterations(nest); i < n; i += extent) {
    int64_t at[2];
    offsetsAt(nest, i, at);
    for (int64_t k = 0; k < extent; ++k)
      to[at[0] + k * nest.stride[0][inner]] =
          from[at[1] + k * nest.stride[1][inner]];
  }
}

static void copyOnHost(const Tensor &to, const Tensor &from) {
  LoopNest<2> nest = copyNest(to, from);
  if (sizeOf(to.type) == 1)
    copyOnHost(nest, to.as<uint8_t>(), from.as<uint8_t>());
  else
    copyOnHost(nest, to.as<uint32_t>(), from.as<uint32_t>());
}

void CudaMachine::read(Tensor source, int device, void *host) {
  synchronize();
  devices.at(device).gpu->use();
  auto bytes = static_cast<size_t>(source.bytes());
  Tensor target = hostView(source, host);
  if (lieAlike(target, source)) {
    check(cudaMemcpy(host, source.data, bytes, cudaMemcpyDeviceToHost),
          "reading a tensor");
    return;
  }
  std::vector<char> image(bytes);
  check(cudaMemcpy(image.data(), source.data, bytes, cudaMemcpyDeviceToHost),
        "reading a tensor");
  source.data = image.data();
  copyOnHost(target, source);
}

void CudaMachine::write(Tensor target, int device, const void *host) {
  synchronize();
  devices.at(device).gpu->use();
  auto bytes = static_cast<size_t>(target.bytes());
  Tensor source = hostView(target, const_cast<void *>(host));
  std::vector<char> image;
  if (!lieAlike(target, source)) {
    image.resize(bytes);
    Tensor converted = target;
    converted.data = image.data();
    copyOnHost(converted, source);
    host = image.data();
  }
  check(cudaMemcpy(target.data, host, bytes, cudaMemcpyHostToDevice),
        "writing a tensor");
  // From pageable memory cudaMemcpy may return before the device has it, on a
  // stream that the lanes do not wait for.
  check(cudaDeviceSynchronize(), "writing a tensor");
}

void CudaMachine::inOrder(int index,
                          const std::function<void(cudaStream_t)> &transfer) {
  Device &origin = devices.at(0), &device = devices.at(index);
  if (index != 0) {
    origin.gpu->use();
    check(cudaEventRecord(origin.order, origin.stream), "ordering a transfer");
    device.gpu->use();
    check(cudaStreamWaitEvent(device.stream, origin.order, 0),
          "ordering a transfer");
  }
  device.gpu->use();
  transfer(device.stream);
  if (index != 0) {
    check(cudaEventRecord(device.order, device.stream), "ordering a transfer");
    check(cudaStreamWaitEvent(origin.stream, device.order, 0),
          "ordering a transfer");
  }
}

void CudaMachine::copyAsync(Tensor target, Tensor source, int device) {
  inOrder(device, [&](cudaStream_t stream) {
    if (lieAlike(target, source))
      check(cudaMemcpyAsync(target.data, source.data,
                            static_cast<size_t>(target.bytes()),
                            cudaMemcpyDefault, stream),
            "copying a tensor");
    else
      copyStrided(stream, target, source);
  });
}

void CudaMachine::writeAsync(Tensor target, int device, const void *host) {
  copyAsync(target, hostView(target, const_cast<void *>(host)), device);
}

int64_t CudaMachine::readAsync(Tensor source, int device, void *host) {
  copyAsync(hostView(source, host), source, device);
  Device &origin = devices.at(0);
  origin.gpu->use();
  if (tickets.size() < ticketCount) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming |
                                               cudaEventBlockingSync),
          "making an event");
    tickets.push_back(event);
  }
  check(cudaEventRecord(tickets[static_cast<size_t>(lastTicket) % ticketCount],
                        origin.stream),
        "reading a tensor");
  return ++lastTicket;
}

Clock::time_point CudaMachine::wait(int64_t ticket) {
  assert(ticket <= lastTicket && "no such ticket");
  if (ticket > 0)
    check(cudaEventSynchronize(
              tickets[static_cast<size_t>(ticket - 1) % ticketCount]),
          "running the program");
  return Clock::now();
}

void *CudaMachine::hostAlloc(int64_t bytes) {
  void *memory = nullptr;
  auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  check(cudaHostAlloc(&memory, size, cudaHostAllocPortable),
        "allocating pinned host memory");
  std::memset(memory, 0, size);
  return pinned.emplace_back(memory);
}

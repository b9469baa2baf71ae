//===- Transfer.cpp - Between host and device, and between devices --------===//
//
// Copies run in the device's lane, also those that the caller waits for: OpenMP
// threads of the caller's own would count against the cores when libgomp
// decides how long the lanes' threads wait before they sleep, and the many
// short parallel loops of a step would pay for waking them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/HostCopy.h"
#include "runtime/cpu/Copy.h"
#include "runtime/cpu/CpuMachine.h"

namespace lwcc::rt {

/// `tensor` with the row-major layout that host memory has.
static Tensor rowMajor(const Tensor &tensor, void *host) {
  return Tensor(host, tensor.type, tensor.dim.data(), tensor.rank,
                Layout::dense);
}

CpuLane &CpuMachine::laneOn(int device) {
  CpuLane *any = nullptr;
  for (auto &lane : lanes)
    if (isLocal(lane->device)) {
      if (lane->device == device)
        return *lane;
      any = any ? any : lane.get();
    }
  return *any;
}

int64_t CpuMachine::postCopy(int device, Tensor to, Tensor from, bool isRead) {
  CpuLane &lane = laneOn(device);
  Item item;
  item.actionLane = lane.index;
  item.isRead = isRead;
  item.action = [&lane, to, from] { copyTensor(lane.threads, to, from); };
  return static_cast<int64_t>(post(std::move(item)));
}

/// Where a tensor lies in its device's arena, in bytes.
static int64_t offsetIn(const Arena &arena, const Tensor &tensor) {
  return tensor.as<char>() - arena.data();
}

/// Asks now, so that the other rank reads before it runs anything else, and
/// waits in the order of items.
int64_t CpuMachine::postRemoteRead(int device, Tensor source, Tensor host) {
  assert(team->remote && "only rank 0 reads the devices of others");
  const int64_t request = team->remote->askFor(
      device, offsetIn(arenas[device], source), source.bytes());
  Item item;
  item.actionLane = laneOn(device).index;
  item.isRead = true;
  item.action = [this, source, host, request] {
    const bool isSame = source.stride == host.stride;
    std::vector<char> stored(isSame ? 0 : source.bytes());
    Tensor from = source;
    from.data = isSame ? host.data : stored.data();
    team->remote->await(request, from.data);
    if (!isSame)
      copyOnHost(host, from);
  };
  return static_cast<int64_t>(post(std::move(item)));
}

void CpuMachine::read(Tensor source, int device, void *host) {
  if (!isLocal(device)) {
    wait(postRemoteRead(device, source, rowMajor(source, host)));
    return;
  }
  wait(postCopy(device, rowMajor(source, host), source, true));
}

void CpuMachine::write(Tensor target, int device, const void *host) {
  if (!isLocal(device)) {
    std::vector<char> stored(target.bytes());
    Tensor to = target;
    to.data = stored.data();
    copyOnHost(to, rowMajor(target, const_cast<void *>(host)));
    return team->remote->write(device, offsetIn(arenas[device], target),
                               stored.data(), target.bytes());
  }
  postCopy(device, target, rowMajor(target, const_cast<void *>(host)), false);
  synchronize();
}

void CpuMachine::writeAsync(Tensor target, int device, const void *host) {
  if (!isLocal(device))
    return team->remote->write(device, offsetIn(arenas[device], target), host,
                               target.bytes());
  Tensor source = target;
  source.data = const_cast<void *>(host);
  postCopy(device, target, source, false);
}

int64_t CpuMachine::readAsync(Tensor source, int device, void *host) {
  Tensor target = source;
  target.data = host;
  if (!isLocal(device))
    return postRemoteRead(device, source, target);
  return postCopy(device, target, source, true);
}

// Says when the lane had read, not when this thread woke up: the lanes' threads
// may keep the cores from it.
Clock::time_point CpuMachine::wait(int64_t ticket) {
  Clock::time_point when;
  {
    auto number = static_cast<uint64_t>(ticket);
    std::unique_lock lock(mutex);
    waitFor(lock, number);
    auto read = readAt.find(number);
    when = read != readAt.end() ? read->second : Clock::now();
    readAt.erase(readAt.begin(), readAt.upper_bound(number));
  }
  if (failed) // what was read is not what the run would have written
    synchronize();
  return when;
}

void *CpuMachine::hostAlloc(int64_t bytes) {
  hostMemory.emplace_back(bytes);
  return hostMemory.back().data();
}

int CpuMachine::deviceOf(const void *address) const {
  auto at = static_cast<const char *>(address);
  for (size_t d = 0; d < arenas.size(); ++d)
    if (at >= arenas[d].data() && at < arenas[d].data() + arenas[d].bytes())
      return static_cast<int>(d);
  assert(false && "a tensor lies in no device's arena");
  return 0;
}

std::vector<MovedBytes> CpuMachine::movedBytes() {
  synchronize();
  int devices = static_cast<int>(arenas.size());
  std::vector<int64_t> bytes(devices * devices);
  for (auto &lane : lanes)
    for (int from = 0; from < devices; ++from)
      bytes[from * devices + lane->device] += lane->received[from];
  std::vector<MovedBytes> moved;
  for (int pair = 0; pair < devices * devices; ++pair)
    if (bytes[pair] > 0)
      moved.push_back({pair / devices, pair % devices, bytes[pair]});
  return moved;
}

} // namespace lwcc::rt

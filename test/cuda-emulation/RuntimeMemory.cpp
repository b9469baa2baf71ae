//===- RuntimeMemory.cpp - CUDA's functions of memory ---------------------===//
//
// Allocation, and copies between host and devices. What cudaMemset and a copy
// from pageable memory do is still to come when they return, on the default
// stream, which streams that do not block it never wait for.
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include <cstring>
#include <string_view>

using namespace lwcc::emulation;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static cudaError_t allocate(void **memory, int owner, size_t bytes,
                            bool isMapped = false) {
  World &w = world();
  *memory = nullptr;
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  if (bytes == 0)
    return cudaSuccess;
  void *address = w.memory.allocate(owner, bytes, isMapped);
  if (!address)
    return w.answer(cudaErrorMemoryAllocation);
  *memory = address;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  return allocate(memory, world().current, bytes);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
  if (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped |
                cudaHostAllocWriteCombined))
    return world().answer(cudaErrorInvalidValue);
  return allocate(memory, Memory::pinned, bytes, flags & cudaHostAllocMapped);
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags) {
  World &w = world();
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  if (!memory || !bytes ||
      flags != (cudaHostRegisterPortable | cudaHostRegisterMapped))
    return w.answer(cudaErrorInvalidValue);
  return w.answer(w.memory.pin(memory, bytes)
                      ? cudaSuccess
                      : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void *memory) {
  World &w = world();
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  return w.answer(w.memory.unpin(memory) ? cudaSuccess
                                         : cudaErrorHostMemoryNotRegistered);
}

static cudaError_t release(void *memory, bool isPinned) {
  World &w = world();
  if (!memory)
    return cudaSuccess;
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  // Waits for the device, as CUDA's does.
  w.waitUntil([&] {
    for (const Stream &stream : w.streams)
      if (!stream.queue.empty() &&
          (isPinned || stream.device == w.memory.ownerOf(memory)))
        return false;
    return true;
  });
  return w.memory.free(memory, isPinned) ? cudaSuccess
                                         : w.answer(cudaErrorInvalidValue);
}

cudaError_t cudaFree(void *memory) { return release(memory, false); }
cudaError_t cudaFreeHost(void *memory) { return release(memory, true); }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static bool isDevice(const void *address) {
  const Memory &memory = world().memory;
  return memory.holds(address) && memory.ownerOf(address) != Memory::pinned;
}
static bool isPinned(const void *address) {
  const Memory &memory = world().memory;
  return memory.holds(address) && memory.ownerOf(address) == Memory::pinned;
}

/// Whether the addresses are what the caller says that they are.
static bool matches(cudaMemcpyKind kind, const void *to, const void *from) {
  switch (kind) {
  case cudaMemcpyDefault:
    return true;
  case cudaMemcpyHostToDevice:
    return isDevice(to) && !isDevice(from);
  case cudaMemcpyDeviceToHost:
    return !isDevice(to) && isDevice(from);
  case cudaMemcpyDeviceToDevice:
    return isDevice(to) && isDevice(from);
  case cudaMemcpyHostToHost:
    return !isDevice(to) && !isDevice(from);
  }
  return false;
}

/// Changes, but for chance, where any byte does.
static uint64_t digest(const void *memory, size_t bytes) {
  return std::hash<std::string_view>()(
      {static_cast<const char *>(memory), bytes});
}

/// The copy, and the accesses of it that are to device or pinned memory.
static Item copyItem(void *to, const void *from, size_t bytes, int device) {
  Item item;
  item.name = "a copy";
  item.device = device;
  item.isCopy = true;
  for (Access access : {Access{from, bytes, false}, Access{to, bytes, true}})
    if (world().memory.holds(access.address))
      item.accesses.push_back(access);
  item.run = [=] { std::memcpy(to, from, bytes); };
  return item;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  World &w = world();
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  if (!isDevice(memory))
    return w.answer(cudaErrorInvalidValue);
  w.elapse();
  Item item;
  item.name = "cudaMemset";
  item.device = w.memory.ownerOf(memory);
  item.isCopy = true;
  item.accesses = {{memory, bytes, true}};
  item.run = [=] { std::memset(memory, value, bytes); };
  return w.push(streamOf(nullptr), std::move(item));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  World &w = world();
  if (cudaError_t status = w.unsafe())
    return w.answer(status);
  if (!matches(kind, to, from))
    return w.answer(cudaErrorInvalidValue);
  w.elapse();
  Stream &stream = streamOf(nullptr);
  const bool returnsEarly = isDevice(to) && (isDevice(from) || !isPinned(from));
  if (!isDevice(from) && !isPinned(from)) {
    // Its value is taken now.
    auto *bytesOf = static_cast<const char *>(from);
    auto image = std::make_shared<std::vector<char>>(bytesOf, bytesOf + bytes);
    Item item = copyItem(to, image->data(), bytes, w.current);
    item.run = [=] { std::memcpy(to, image->data(), bytes); };
    w.push(stream, std::move(item));
  } else {
    w.push(stream, copyItem(to, from, bytes, w.current));
  }
  if (returnsEarly)
    return cudaSuccess;
  cudaError_t status = w.waitUntil([&] { return stream.queue.empty(); });
  w.learn(stream.clock);
  return w.answer(status);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t on) {
  World &w = world();
  if (!matches(kind, to, from))
    return w.answer(cudaErrorInvalidValue);
  w.elapse();
  Stream &stream = streamOf(on);
  for (const void *side : {static_cast<const void *>(to), from})
    if (!w.memory.holds(side) && !w.memory.isPinned(side, bytes))
      fault("cudaMemcpyAsync: pageable memory of the host");
  Item item = copyItem(to, from, bytes, stream.device);
  if (!stream.capture && isPinned(to))
    std::memset(to, 0xff, bytes); // it has no value until the copy is over
  const bool checked = !stream.capture && isPinned(from);
  item.run = [=, &w, before = checked ? digest(from, bytes) : 0] {
    if (checked && digest(from, bytes) != before)
      fault("cudaMemcpyAsync: the host has changed what it was to copy");
    std::memcpy(to, from, bytes);
    if (isPinned(from))
      w.bytesReceived += static_cast<int64_t>(bytes);
  };
  return w.answer(w.push(stream, std::move(item)));
}

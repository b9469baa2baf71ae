//===- Memory.cpp - Device memory and what is known of it -----------------===//

#include "Memory.h"
#include "Emulation.h"
#include "Order.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <sys/mman.h>

using namespace lwcc::emulation;

/// Between two allocations, so that none is behind another one's end.
static constexpr size_t gap = 4096;

static void *reserve(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulation: no addresses for device memory");
    std::abort();
  }
  madvise(memory, bytes, MADV_HUGEPAGE); // touched in large pieces
  return memory;
}

Memory::Memory()
    : base(static_cast<char *>(reserve(reach))),
      states(static_cast<uint8_t *>(reserve(reach))) {
  for (size_t &at : end)
    at = gap;
}

Memory::~Memory() {
  munmap(base, reach);
  munmap(states, reach);
}

void *Memory::allocate(int owner, size_t bytes, bool isMapped) {
  size_t begin = (end[owner] + 511) / 512 * 512 + 256;
  if (begin + bytes + gap > bytesOfOwner)
    return nullptr;
  char *address = base + size_t(owner) * bytesOfOwner + begin;
  end[owner] = begin + bytes + gap;
  used[owner] += bytes;
  allocations[address] = bytes;
  if (isMapped)
    mapped.insert(address);
  allow(address, bytes);
  if (owner == pinned)
    initialise(address, bytes);
  return address;
}

bool Memory::free(void *address, bool isPinned) {
  auto at = allocations.find(static_cast<char *>(address));
  if (at == allocations.end() || (ownerOf(address) == pinned) != isPinned)
    return false;
  forbid(address, at->second);
  // The addresses are not used again, the memory is.
  auto first = (reinterpret_cast<uintptr_t>(address) + 4095) / 4096 * 4096;
  auto last = (reinterpret_cast<uintptr_t>(address) + at->second) / 4096 * 4096;
  if (last > first)
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
  used[ownerOf(address)] -= at->second;
  mapped.erase(at->first);
  allocations.erase(at);
  return true;
}

bool Memory::pin(const void *address, size_t bytes) {
  const auto *begin = static_cast<const char *>(address);
  auto next = pinnedLater.lower_bound(begin);
  if (next != pinnedLater.end() && next->first < begin + bytes)
    return false;
  if (next != pinnedLater.begin() &&
      std::prev(next)->first + std::prev(next)->second > begin)
    return false;
  return pinnedLater.emplace(begin, bytes).second;
}

bool Memory::unpin(const void *address) {
  return pinnedLater.erase(static_cast<const char *>(address));
}

bool Memory::isPinned(const void *address, size_t bytes) const {
  const auto *begin = static_cast<const char *>(address);
  auto at = pinnedLater.upper_bound(begin);
  if (at == pinnedLater.begin())
    return false;
  --at;
  return begin + bytes <= at->first + at->second;
}

//===----------------------------------------------------------------------===//
// What is known of bytes
//===----------------------------------------------------------------------===//

void Memory::poison(void *address, size_t bytes) {
  // As floats NaN, as whole numbers -1 or 255.
  std::memset(address, 0xff, bytes);
  std::memset(states + offsetOf(address), uninitialised, bytes);
}

void Memory::allow(void *address, size_t bytes) { poison(address, bytes); }

void Memory::forbid(const void *address, size_t bytes) {
  std::memset(states + offsetOf(address), outside, bytes);
}

void Memory::initialise(const void *address, size_t bytes) {
  std::memset(states + offsetOf(address), initialised, bytes);
}

bool Memory::isAll(size_t offset, size_t bytes, State least) const {
  const uint8_t *at = states + offset;
  // A sum of flags, which the compiler makes of vectors.
  while (bytes > 0) {
    const size_t here = std::min<size_t>(bytes, 4096);
    unsigned less = 0;
    for (size_t i = 0; i < here; ++i)
      less += at[i] < least;
    if (less)
      return false;
    at += here;
    bytes -= here;
  }
  return true;
}

bool Memory::isInitialised(const void *address, size_t bytes) const {
  return isAll(offsetOf(address), bytes, initialised);
}

/// Whether what runs now may touch memory of this owner.
bool Memory::reaches(const void *address) const {
  const int owner = ownerOf(address);
  if (now.isCopy || owner == now.device || peers.count({now.device, owner}))
    return true;
  auto at = allocations.upper_bound(static_cast<const char *>(address));
  return owner == pinned && at != allocations.begin() &&
         mapped.count(std::prev(at)->first);
}

bool Memory::check(const void *address, size_t bytes, bool writes) {
  const size_t offset = offsetOf(address);
  if (offset >= reach || bytes > reach - offset)
    return refuse(address, bytes, writes);
  if (!reaches(address))
    return refuse(address, bytes, writes);
  if (writes) {
    if (!isAll(offset, bytes, uninitialised))
      return refuse(address, bytes, writes);
    std::memset(states + offset, initialised, bytes);
    return true;
  }
  return isAll(offset, bytes, initialised) || refuse(address, bytes, writes);
}

bool Memory::refuse(const void *address, size_t bytes, bool writes) const {
  const size_t offset = offsetOf(address);
  std::string why;
  bool goesOn = false;
  if (offset >= reach || bytes > reach - offset)
    why = "memory of the host";
  else if (!reaches(address))
    why = describe(address) + " from device " + std::to_string(now.device) +
          " without peer access";
  else {
    size_t i = 0;
    const State least = writes ? uninitialised : initialised;
    while (states[offset + i] >= least)
      ++i;
    goesOn = states[offset + i] != outside;
    why = describe(static_cast<const char *>(address) + i) +
          (goesOn ? ", which nobody has written" : ", which is no tensor's");
  }
  fault(std::string(ops[now.op].name) + (writes ? " writes " : " reads ") +
        why);
  return goesOn;
}

std::string Memory::describe(const void *address) const {
  auto at = allocations.upper_bound(static_cast<const char *>(address));
  if (at == allocations.begin())
    return "what was not allocated";
  --at;
  const int owner = ownerOf(at->first);
  return "byte " +
         std::to_string(static_cast<const char *>(address) - at->first) +
         " of " + std::to_string(at->second) + " bytes of " +
         (owner == pinned ? "pinned memory"
                          : "device " + std::to_string(owner));
}

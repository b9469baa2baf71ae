//===- Memory.h - Device memory and what is known of it ---------*- C++ -*-===//
//
// Memory of emulated GPUs and pinned memory, in one range of addresses that is
// reserved once, a part of it for each owner. Of each byte it is known whether
// it may be touched and whether it was written; check() reports what must not
// be. Which accesses may meet is decided in Races.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_MEMORY_H
#define LWCC_TEST_CUDAEMULATION_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace lwcc::emulation {

class Memory {
public:
  static constexpr int maxDevices = 16;
  static constexpr int pinned = maxDevices; ///< the owner of pinned memory
  static constexpr size_t bytesOfOwner = size_t(8) << 30;
  static constexpr size_t reach = (maxDevices + 1) * bytesOfOwner;

  Memory();
  Memory(const Memory &) = delete;
  ~Memory();

  /// Poisoned memory of a device, or pinned memory, aligned to 256 bytes and
  /// not to more; null where there is too little left.
  void *allocate(int owner, size_t bytes, bool isMapped = false);
  /// False where nothing was allocated there for this kind of owner.
  bool free(void *address, bool isPinned);
  size_t bytesUsed(int owner) const { return used[owner]; }

  /// Whether an address is in the reserved range, and whose part of it.
  bool holds(const void *address) const { return offsetOf(address) < reach; }
  int ownerOf(const void *address) const {
    return static_cast<int>(offsetOf(address) / bytesOfOwner);
  }
  size_t offsetOf(const void *address) const {
    return static_cast<size_t>(static_cast<const char *>(address) - base);
  }

  /// Whether what runs now may read or write these bytes; reports why not. What
  /// is written is initialised from then on.
  bool check(const void *address, size_t bytes, bool writes);
  /// Fills with what is surely wrong, and uninitialised.
  void poison(void *address, size_t bytes);
  void forbid(const void *address, size_t bytes);
  void allow(void *address, size_t bytes);
  /// Initialised without an access, by the host.
  void initialise(const void *address, size_t bytes);
  bool isInitialised(const void *address, size_t bytes) const;
  /// "byte 260 of 256 bytes of device 0".
  std::string describe(const void *address) const;

  /// Pairs (device, peer) with access.
  std::set<std::pair<int, int>> peers;

  /// Memory of the process that was pinned afterwards, and what kernels may
  /// touch. What is written there is not known: others fill it, too.
  bool pin(const void *address, size_t bytes);
  bool unpin(const void *address);
  bool isPinned(const void *address, size_t bytes) const;

private:
  enum State : uint8_t { outside, uninitialised, initialised };
  bool reaches(const void *address) const;
  bool isAll(size_t offset, size_t bytes, State least) const;
  bool refuse(const void *address, size_t bytes, bool writes) const;

  char *base = nullptr;
  uint8_t *states = nullptr; ///< by offset
  size_t end[maxDevices + 1] = {}, used[maxDevices + 1] = {};
  std::map<const char *, size_t> allocations;
  std::map<const char *, size_t> pinnedLater;
  std::set<const char *> mapped; ///< allocations that kernels may touch
};

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_MEMORY_H

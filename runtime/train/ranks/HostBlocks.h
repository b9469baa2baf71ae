//===- HostBlocks.h - Memory of the host that devices copy from -*- C++ -*-===//
//
// Blocks that a machine's asynchronous copies may read and write
// (Machine::hostAlloc), which are used again: a machine frees none before its
// end. Taken by one thread, given back by any.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_HOSTBLOCKS_H
#define LWCC_RUNTIME_TRAIN_RANKS_HOSTBLOCKS_H

#include "runtime/core/Machine.h"

#include <bit>
#include <map>
#include <mutex>
#include <utility>

namespace lwcc::rt::train {

class HostBlocks {
public:
  explicit HostBlocks(Machine &machine) : machine(machine) {}
  HostBlocks(const HostBlocks &) = delete;

  /// Given back with its owner, which must not outlive this.
  class Block {
  public:
    Block() = default;
    Block(HostBlocks &home, char *data, uint64_t room)
        : home(&home), memory(data), room(room) {}
    Block(Block &&other) noexcept { *this = std::move(other); }
    Block &operator=(Block &&other) noexcept {
      std::swap(home, other.home);
      std::swap(memory, other.memory);
      std::swap(room, other.room);
      return *this;
    }
    ~Block() {
      if (home)
        home->giveBack(memory, room);
    }
    char *data() const { return memory; }

  private:
    HostBlocks *home = nullptr;
    char *memory = nullptr;
    uint64_t room = 0;
  };

  Block take(int64_t bytes) {
    const uint64_t room = std::bit_ceil(static_cast<uint64_t>(bytes) | 63);
    {
      std::lock_guard lock(mutex);
      if (auto at = idle.find(room); at != idle.end()) {
        char *memory = at->second;
        idle.erase(at);
        return {*this, memory, room};
      }
    }
    return {*this,
            static_cast<char *>(machine.hostAlloc(static_cast<int64_t>(room))),
            room};
  }

private:
  void giveBack(char *memory, uint64_t room) {
    std::lock_guard lock(mutex);
    idle.emplace(room, memory);
  }

  Machine &machine;
  std::mutex mutex;
  std::multimap<uint64_t, char *> idle; ///< by their size
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_HOSTBLOCKS_H

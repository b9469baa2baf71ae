//===- Grid.h - The blocks and threads of a kernel --------------*- C++ -*-===//
//
// A launch, one block after the other in random order; the threads of a block
// as fibres. A thread runs until it waits for others of its block or warp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_GRID_H
#define LWCC_TEST_CUDAEMULATION_GRID_H

#include "Fibre.h"
#include "KernelAddress.h"
#include "World.h"

namespace lwcc::emulation {

class Grid {
public:
  static constexpr unsigned maxThreads = 1024, warpSize = 32;

  Grid(const BoundKernel &kernel, dim3 grid, dim3 block);
  void run();

  // For the functions of Kernels.h, on a thread's own stack.
  void waitForBlock(const void *site);
  /// Meets the other lanes of the mask.
  uint64_t meet(uint32_t mask, uint64_t value, int source, bool isVote);
  /// Ends the kernel: after a fault nothing that it does is of interest.
  [[noreturn]] void abandon();

  bool mayTouch(const void *address) const {
    return stacks().holds(address) || kernel.holds(address);
  }
  /// Null outside of kernels, and while the emulation does something for one.
  static thread_local Grid *running;

private:
  struct Thread {
    enum State { waiting, ready, atBarrier, inWarp, over };
    State state = waiting; ///< for its first turn
    void *stack = nullptr; ///< where it goes on
    const void *site = nullptr;
    // In a warp: what it gives, where from it takes, what it got.
    uint32_t mask = 0;
    bool isVote = false;
    int source = 0;
    uint64_t value = 0;
  };
  static Stacks &stacks();
  static void enter();
  void runBlock(uint32_t number);
  void resume(unsigned index);
  void suspend();
  bool releaseWarp(unsigned index);
  void releaseBlock();
  void reportDeadlock();

  const BoundKernel &kernel;
  const dim3 grid, block;
  const unsigned count; ///< threads of a block
  std::vector<Thread> threads;
  unsigned current = 0, atBarrier = 0, over = 0;
  uint32_t interval = 0;
  bool isAbandoned = false;
  void *scheduler = nullptr; ///< its stack
};

/// While it lives, accesses are the emulation's own: code of the standard
/// library may be an instrumented file's.
class Unwatched {
public:
  Unwatched() : grid(std::exchange(Grid::running, nullptr)) {}
  Unwatched(const Unwatched &) = delete;
  ~Unwatched() { Grid::running = grid; }

private:
  Grid *grid;
};

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_GRID_H

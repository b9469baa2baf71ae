//===- Grid.cpp - The blocks and threads of a kernel ----------------------===//

#include "Grid.h"

#include <algorithm>
#include <numeric>

using namespace lwcc;
using namespace lwcc::emulation;

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

thread_local Grid *Grid::running = nullptr;

Stacks &Grid::stacks() {
  static Stacks stacks(maxThreads);
  return stacks;
}

Grid::Grid(const BoundKernel &kernel, dim3 grid, dim3 block)
    : kernel(kernel), grid(grid), block(block),
      count(block.x * block.y * block.z), threads(count) {}

void Grid::run() {
  const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  std::vector<uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), world().random);
  gridDim = grid;
  blockDim = block;
  for (uint32_t number : order)
    if (!isAbandoned)
      runBlock(number);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

void Grid::enter() {
  Grid &grid = *running;
  grid.kernel.call();
  Thread &thread = grid.threads[grid.current];
  thread.state = Thread::over;
  ++grid.over;
  grid.suspend();
}

void Grid::suspend() { lwccSwitchStacks(&threads[current].stack, scheduler); }

void Grid::abandon() {
  isAbandoned = true;
  suspend();
  __builtin_unreachable();
}

void Grid::resume(unsigned index) {
  current = index;
  Thread &thread = threads[index];
  if (thread.state == Thread::waiting)
    thread.stack = stacks().take(enter);
  thread.state = Thread::ready;
  threadIdx = {index % block.x, index / block.x % block.y,
               index / block.x / block.y};
  now.thread = index;
  now.interval = interval;
  running = this;
  lwccSwitchStacks(&scheduler, thread.stack);
  running = nullptr;
  now.site = nullptr;
  if (thread.state == Thread::over)
    stacks().giveBack(thread.stack);
}

void Grid::runBlock(uint32_t number) {
  blockIdx = {number % grid.x, number / grid.x % grid.y,
              number / grid.x / grid.y};
  now.block = number;
  std::fill(threads.begin(), threads.end(), Thread());
  atBarrier = over = 0;
  interval = 0;
  // A random warp first, and a random lane of each.
  const unsigned first = world().random();
  while (over < count && !isAbandoned) {
    bool anyTurn = false;
    for (unsigned i = 0; i < count && !isAbandoned; ++i) {
      const unsigned index = (i + first) % count;
      if (threads[index].state > Thread::ready)
        continue;
      anyTurn = true;
      resume(index);
    }
    if (!anyTurn) {
      reportDeadlock();
      isAbandoned = true;
    }
  }
  if (isAbandoned)
    stacks().giveAllBack();
}

void Grid::reportDeadlock() {
  unsigned warps = 0;
  for (const Thread &thread : threads)
    warps += thread.state == Thread::inWarp;
  std::string text = std::string(ops[now.op].name) + ": ";
  if (atBarrier)
    text += std::to_string(atBarrier) + " of " + std::to_string(count) +
            " threads of a block wait at a barrier, ";
  if (warps)
    text += std::to_string(warps) +
            " wait for a lane of their mask that does not come, ";
  fault(text + std::to_string(over) + " have ended");
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Grid::waitForBlock(const void *site) {
  Thread &thread = threads[current];
  thread.site = site;
  thread.state = Thread::atBarrier;
  if (++atBarrier == count)
    releaseBlock();
  if (thread.state == Thread::atBarrier)
    suspend();
  now.interval = interval;
}

void Grid::releaseBlock() {
  for (const Thread &thread : threads)
    if (thread.site != threads[0].site) {
      fault(std::string(ops[now.op].name) +
            ": threads of a block meet at different barriers");
      break;
    }
  for (Thread &thread : threads)
    thread.state = Thread::ready;
  atBarrier = 0;
  ++interval;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

uint64_t Grid::meet(uint32_t mask, uint64_t value, int source, bool isVote) {
  Thread &thread = threads[current];
  if (!(mask >> current % warpSize & 1)) {
    fault(std::string(ops[now.op].name) +
          ": a lane that its own mask does not name");
    abandon();
  }
  thread.state = Thread::inWarp;
  thread.mask = mask;
  thread.value = value;
  thread.source = source;
  thread.isVote = isVote;
  if (!releaseWarp(current))
    suspend();
  return thread.value;
}

/// Lets the lanes go on that wait with this thread, if all are there.
bool Grid::releaseWarp(unsigned index) {
  const unsigned begin = index / warpSize * warpSize;
  const Thread &last = threads[index];
  uint64_t given[warpSize] = {};
  uint32_t votes = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(last.mask >> lane & 1))
      continue;
    if (begin + lane >= count) {
      fault(std::string(ops[now.op].name) +
            ": a mask names lanes that the block does not have");
      abandon();
    }
    const Thread &thread = threads[begin + lane];
    if (thread.state != Thread::inWarp)
      return false;
    if (thread.mask != last.mask || thread.isVote != last.isVote) {
      fault(std::string(ops[now.op].name) +
            ": lanes of a warp meet with different masks or functions");
      abandon();
    }
    given[lane] = thread.value;
    votes |= uint32_t(thread.value & 1) << lane;
  }
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(last.mask >> lane & 1))
      continue;
    Thread &thread = threads[begin + lane];
    if (!thread.isVote && !(last.mask >> thread.source & 1)) {
      fault(std::string(ops[now.op].name) +
            ": a shuffle takes from a lane that the mask does not name");
      abandon();
    }
    thread.value = thread.isVote ? votes : given[thread.source];
    thread.state = Thread::ready;
  }
  return true;
}

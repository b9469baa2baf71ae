//===- Lane.cpp - The CPU backend's lanes and events ------------*- C++ -*-===//
//
// See Lane.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Lane.h"

#include <algorithm>

namespace lwcc::rt {

void CpuLane::layer(const char *name, const char *phase) {
  currentLayer = name;
  currentPhase = phase;
}

void CpuLane::append(const char *op, const Tensors &results,
                     std::function<void()> run, const Tensors &read) {
  Entry entry;
  entry.op = op;
  entry.results = results;
  entry.run = std::move(run);
  for (const Tensor &x : read)
    if (int from = deviceOf(x.data); from != device) {
      entry.received.push_back({from, device, x.bytes()});
      entry.read.push_back(x);
    }
  append(std::move(entry));
}

void CpuLane::append(Entry entry) {
  assert(recording && "operators are called inside Machine::record");
  entry.lane = this;
  entry.layer = currentLayer;
  entry.phase = currentPhase;
  if (entry.kind == Entry::work)
    entry.number = recording->operators++;
  recording->perLane[index].push_back(
      static_cast<int>(recording->entries.size()));
  recording->entries.push_back(std::move(entry));
}

void CpuLane::needWorkspace(int64_t bytes) { needed = std::max(needed, bytes); }

void CpuLane::beginRecording(Sequence &sequence) {
  recording = &sequence;
  currentLayer.clear();
  currentPhase.clear();
}

void CpuLane::endRecording(bool isLocal) {
  recording = nullptr;
  if (isLocal && needed > memory.bytes()) {
    memory = Arena(); // the old one first: never hold both
    memory = Arena(needed);
  }
}

void CpuEvent::record(Lane &lane) {
  Entry entry;
  entry.kind = Entry::record;
  entry.event = this;
  cpuLane(lane).append(std::move(entry));
}

void CpuEvent::wait(Lane &lane) {
  Entry entry;
  entry.kind = Entry::wait;
  entry.event = this;
  cpuLane(lane).append(std::move(entry));
}

void CpuEvent::signal(uint64_t run) {
  lastRun.store(static_cast<int>(run), std::memory_order_release);
  lastRun.notify_all();
}

/// Waits until `isOver(lastRun)`. Whoever sees what `wake` has left there sees
/// `failed`, too.
template <typename IsOver>
static void waitUntil(const std::atomic<int> &lastRun,
                      const std::atomic<bool> &failed, IsOver isOver) {
  for (int last = lastRun.load(std::memory_order_acquire);
       !isOver(last) && !failed; last = lastRun.load(std::memory_order_acquire))
    lastRun.wait(last, std::memory_order_acquire);
}

void CpuEvent::await(uint64_t run, const std::atomic<bool> &failed) {
  // Runs follow each other: the last one signalled is this one or the one
  // before, or one from a time when the event was not used.
  const int wanted = static_cast<int>(run);
  waitUntil(lastRun, failed, [=](int last) { return last == wanted; });
}

void CpuEvent::wake() {
  lastRun.fetch_add(1 << 30, std::memory_order_release); // no run's number
  lastRun.notify_all();
}

/// Whether run `a` is not before `b`; both may have wrapped around.
static bool isAtLeast(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) -
                          static_cast<unsigned>(b)) >= 0;
}

void CpuEvent::signalAtLeast(uint64_t run) {
  const int number = static_cast<int>(run);
  int last = lastRun.load(std::memory_order_relaxed);
  while (
      !isAtLeast(last, number) &&
      !lastRun.compare_exchange_weak(last, number, std::memory_order_release))
    ;
  lastRun.notify_all();
}

void CpuEvent::awaitAtLeast(uint64_t run, const std::atomic<bool> &failed) {
  const int wanted = static_cast<int>(run);
  waitUntil(lastRun, failed, [=](int last) { return isAtLeast(last, wanted); });
}

} // namespace lwcc::rt

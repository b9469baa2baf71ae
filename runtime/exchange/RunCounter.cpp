//===- RunCounter.cpp - Something that happens once in each run -----------===//

#include "runtime/exchange/RunCounter.h"

namespace lwcc::rt {

void RunCounter::signal(uint64_t run) {
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

void RunCounter::await(uint64_t run, const std::atomic<bool> &failed) const {
  // Runs follow each other: the last one signalled is this one or the one
  // before, or one from a time when the counter was not used.
  const int wanted = static_cast<int>(run);
  waitUntil(lastRun, failed, [=](int last) { return last == wanted; });
}

bool RunCounter::hasHappened(uint64_t run) const {
  return lastRun.load(std::memory_order_acquire) == static_cast<int>(run);
}

void RunCounter::wake() {
  lastRun.fetch_add(1 << 30, std::memory_order_release); // no run's number
  lastRun.notify_all();
}

/// Whether run `a` is not before `b`; both may have wrapped around.
static bool isAtLeast(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) -
                          static_cast<unsigned>(b)) >= 0;
}

void RunCounter::signalAtLeast(uint64_t run) {
  const int number = static_cast<int>(run);
  int last = lastRun.load(std::memory_order_relaxed);
  while (
      !isAtLeast(last, number) &&
      !lastRun.compare_exchange_weak(last, number, std::memory_order_release))
    ;
  lastRun.notify_all();
}

void RunCounter::awaitAtLeast(uint64_t run,
                              const std::atomic<bool> &failed) const {
  const int wanted = static_cast<int>(run);
  waitUntil(lastRun, failed, [=](int last) { return isAtLeast(last, wanted); });
}

} // namespace lwcc::rt

//===- RunCounter.h - Something that happens once in each run ---*- C++ -*-===//
//
// A run's await returns once the same run's signal was called. Who goes on
// needs no lock for it: a thread that held it might have no core, until one of
// those that wait for it gives up its own.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_EXCHANGE_RUNCOUNTER_H
#define LWCC_RUNTIME_EXCHANGE_RUNCOUNTER_H

#include <atomic>
#include <cstdint>

namespace lwcc::rt {

class RunCounter {
public:
  void signal(uint64_t run);
  /// Returns at once when `failed`, if it is woken.
  void await(uint64_t run, const std::atomic<bool> &failed) const;
  /// Whether await would return at once.
  bool hasHappened(uint64_t run) const;
  void wake();

  /// Where a later run's may come before a thread has seen an earlier one's.
  void signalAtLeast(uint64_t run);
  void awaitAtLeast(uint64_t run, const std::atomic<bool> &failed) const;

private:
  /// An int is what the system can wait for (futex); it may wrap around.
  std::atomic<int> lastRun = 0;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_EXCHANGE_RUNCOUNTER_H

//===- Order.h - What happens before what -----------------------*- C++ -*-===//
//
// Vector clocks over chains. A chain is anything whose work follows itself: the
// host, a stream, and each stream of a captured graph. A piece of work is known
// by its chain and its number there; it happens before another if that one's
// clock has reached this number. What orders the chains (events, launches,
// waits of the host) is the scheduler's business (World.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_ORDER_H
#define LWCC_TEST_CUDAEMULATION_ORDER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::emulation {

/// How far each chain is known to have come.
class Clock {
public:
  uint32_t at(size_t chain) const {
    return chain < counts.size() ? counts[chain] : 0;
  }
  void set(size_t chain, uint32_t count) {
    if (chain >= counts.size())
      counts.resize(chain + 1);
    counts[chain] = count;
  }
  void join(const Clock &other) {
    if (other.counts.size() > counts.size())
      counts.resize(other.counts.size());
    for (size_t i = 0; i < other.counts.size(); ++i)
      counts[i] = std::max(counts[i], other.counts[i]);
  }

private:
  std::vector<uint32_t> counts;
};

/// A piece of work that has run.
struct Op {
  const char *name = "";
  size_t chain = 0;
  uint32_t count = 0; ///< its number in the chain, from 1
};

/// What runs now: one piece of work, and of a kernel one thread.
struct Execution {
  uint32_t op = 0; ///< index in `ops`; 0: nothing runs
  int device = 0;
  bool isCopy = false; ///< which needs no peer access
  const Clock *clock = nullptr;
  uint32_t block = 0;
  uint32_t thread = 0;
  uint32_t interval = 0;      ///< barriers that the thread has passed
  const void *site = nullptr; ///< of an access in a kernel, its code

  /// " (FILE:LINE)" of the site.
  std::string place() const;
};
inline Execution now;

/// All work so far; the first is no work.
inline std::vector<Op> ops(1);

/// Whether `op` is over before what runs now has begun.
inline bool happensBefore(uint32_t op) {
  return now.clock->at(ops[op].chain) >= ops[op].count;
}

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_ORDER_H

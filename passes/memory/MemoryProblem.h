//===- MemoryProblem.h - Offsets in an arena --------------------*- C++ -*-===//
//
// Offset assignment for buffers in one arena (dynamic storage allocation).
// Given are buffers with sizes and lifetimes. Wanted are offsets such that
// buffers that may hold data at the same time do not overlap, in as few bytes
// as possible.
//
// Two buffers may share bytes only if every access of one happens before every
// access of the other. With one lane that is the textbook case of disjoint
// intervals; with several it is the order of lanes and events, so a lifetime is
// kept per lane. Nothing here knows what a buffer is for.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_MEMORY_MEMORYPROBLEM_H
#define LWCC_PASSES_MEMORY_MEMORYPROBLEM_H

#include "passes/verify/HappensBefore.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::memory {

/// A buffer's accesses. `last` is the last one on each lane that has any (few
/// of them, while there are many lanes); `before[l]` is how much of lane l's
/// work is finished before every access. `first` and `end` are the accesses'
/// positions in the order of appending, half open; they serve the lower bound
/// only.
struct Lifetime {
  std::vector<Stamp> last;
  Clock before;
  int first = 0;
  int end = 0;

  /// Adds an access by `work` that starts when `clock` is finished.
  void add(Stamp work, const Clock &clock, int position);
  bool precedes(const Lifetime &other) const;
};

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  Lifetime lifetime;
};

struct MemoryProblem {
  int64_t alignment = 256;
  std::vector<Buffer> buffers;

  /// Bytes of a buffer rounded up to the alignment: what it costs.
  int64_t cost(int buffer) const;
  /// Whether two buffers must not overlap.
  bool conflict(int a, int b) const;
};

struct MemorySolution {
  std::vector<int64_t> offsets; ///< one per buffer
  int64_t arena = 0;            ///< one past the last byte, aligned
};

/// Buffers of which any two may hold data at the same time.
struct Peak {
  int64_t bytes = 0;
  int position = -1; ///< a moment of the order of appending; -1: no buffers
  std::vector<int> buffers;
};

/// The largest such set that was found, among those that contain what is alive
/// at one moment of the order of appending, or a large buffer. With one lane
/// there is no larger one. A lower bound on every solution's arena.
Peak maxLive(const MemoryProblem &problem);

/// Greedy by size with best fit, then a short deterministic local search while
/// the arena is above the bound. Same problem, same offsets. `wishes` are
/// offsets that buffers may be given, -1 for none: they are, where that costs
/// no more than a thousandth of the bound.
MemorySolution solve(const MemoryProblem &problem,
                     const std::vector<int64_t> &wishes = {});

/// Empty if the solution is valid, else what is wrong with it.
std::string verify(const MemoryProblem &problem,
                   const MemorySolution &solution);

} // namespace lwcc::memory

#endif // LWCC_PASSES_MEMORY_MEMORYPROBLEM_H

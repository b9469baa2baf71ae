//===- MemoryProblem.h - Offsets in an arena --------------------*- C++ -*-===//
//
// Assigns offsets to the buffers of one arena (offset assignment; offline
// dynamic storage allocation). Given are sizes and lifetimes. Wanted are
// offsets in as few bytes as possible, such that buffers that may hold data at
// the same time do not overlap.
//
// Two buffers may share bytes only if every access of one happens before every
// access of the other. With one lane, lifetimes are intervals, the textbook
// case. With several lanes, happens-before is a partial order, so a lifetime is
// kept per lane, in vector clocks (ir/exec/HappensBefore.h).
//
// The nouns:
//   lifetime   when a buffer holds data: first and last accesses, per lane
//   conflict   two buffers may hold data at the same time
//   cost       bytes of a buffer, rounded up to the alignment
//   peak       a set of buffers of which any two conflict: a lower bound
//
// Does not know what a buffer is for: `Buffer` here is a root exec::BufferOp
// that is not persistent, without its tensor. PlanMemory.cpp computes lifetimes
// and places persistent buffers.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_MEMORY_MEMORYPROBLEM_H
#define LWCC_PASSES_MEMORY_MEMORYPROBLEM_H

#include "ir/exec/HappensBefore.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::memory {

/// When a buffer holds data. `last` has its last access on each lane that
/// accesses it: few lanes of many. `before[l]` says how much of lane l's work
/// is finished before each of its accesses. `first` and `end` are positions in
/// the order of appending, half open.
struct Lifetime {
  std::vector<Stamp> last;
  Clock before;
  int first = 0;
  int end = 0;

  /// Adds an access: the call `work`, which starts when all in `clock` is
  /// finished.
  void add(Stamp work, const Clock &clock, int position);
  /// Whether every access happens before every access of `other`.
  bool precedes(const Lifetime &other) const;
};

/// A root buffer of one arena.
struct Buffer {
  std::string name;
  int64_t bytes = 0;
  Lifetime lifetime;
};

/// The buffers of one arena and sequence; their offsets are wanted.
struct MemoryProblem {
  int64_t alignment = 256;
  std::vector<Buffer> buffers;

  /// Bytes of a buffer, rounded up to the alignment.
  int64_t cost(int buffer) const;
  /// Whether two buffers may hold data at the same time, so that they must not
  /// overlap.
  bool conflict(int a, int b) const;
};

/// Offsets for the buffers of a problem.
struct MemorySolution {
  std::vector<int64_t> offsets; ///< one per buffer
  int64_t arena = 0;            ///< one past the last byte, aligned
  int64_t bound = 0;            ///< no solution has a smaller arena
  bool isWished = false;        ///< made of wishes, without a search
};

/// A set of buffers of which any two conflict: a clique of the conflict graph.
struct Peak {
  int64_t bytes = 0;
  int position = -1; ///< in the order of appending; -1: no buffers
  std::vector<int> buffers;
};

/// The largest clique found: among those that contain all buffers alive at one
/// moment of the order of appending, and those that contain one large buffer.
/// With one lane it is the maximum. Its bytes are a lower bound on the arena of
/// every solution.
Peak maxLive(const MemoryProblem &problem);

/// Places buffers greedily, largest first, best fit (Pisarchyk and Lee,
/// "Efficient memory management for deep neural net inference", 2020). A short
/// local search over orders follows while the arena is larger than the bound.
/// The search ends within a thousandth of the bound. Deterministic. `wishes`
/// are preferred offsets, -1 for none; they are granted if the arena is then
/// above the bytes alive at any moment by at most two thousandths of them and
/// `slack` bytes, or by at most a thirtieth and not larger than `harmless`.
MemorySolution solve(const MemoryProblem &problem,
                     const std::vector<int64_t> &wishes = {}, int64_t slack = 0,
                     int64_t harmless = 0);

/// Checks that no two conflicting buffers overlap, and that each is aligned and
/// inside the arena. Empty if so, else a message that names the buffers.
std::string verify(const MemoryProblem &problem,
                   const MemorySolution &solution);

} // namespace lwcc::memory

#endif // LWCC_PASSES_MEMORY_MEMORYPROBLEM_H

//===- Updates.h - Who updates what several devices hold --------*- C++ -*-===//
//
// The rule that both the shard pass and the planner's prices go by.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_UPDATES_H
#define LWCC_PASSES_SHARD_UPDATES_H

#include <cstddef>
#include <cstdint>

namespace lwcc::shard {

/// Whether every device that holds a region of a parameter sums and updates all
/// of it: what each must read is so little that one exchange is quicker than
/// two.
inline bool isAllReduced(int64_t bytes, int64_t copies) {
  constexpr int64_t little = 16 << 10;
  return copies > 1 && bytes * (copies - 1) <= little;
}

/// How the devices that hold copies of a region update it.
struct SharedUpdate {
  /// Each sums and updates all of it. Else each owns a part, whose new values
  /// it sends to the others.
  bool allReduced = false;
  /// Bytes that each updates. Parts count as equal here; the shard pass rounds
  /// them to aligned rows (Updates.cpp), for which prices are too coarse.
  double owned = 0;
};
inline SharedUpdate updateOf(double bytes, size_t copies) {
  const bool allReduced =
      isAllReduced(static_cast<int64_t>(bytes), static_cast<int64_t>(copies));
  return {allReduced, allReduced ? bytes : bytes / static_cast<double>(copies)};
}

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_UPDATES_H

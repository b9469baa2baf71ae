//===- Updates.h - Who updates what several devices hold --------*- C++ -*-===//
//
// The rule that both the shard pass and the planner's prices go by.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_UPDATES_H
#define LWCC_PASSES_SHARD_UPDATES_H

#include <cstdint>

namespace lwcc::shard {

/// Whether every device that holds a region of a parameter sums and updates all
/// of it: what each must read is so little that one exchange is quicker than
/// two.
inline bool isAllReduced(int64_t bytes, int64_t copies) {
  constexpr int64_t little = 16 << 10;
  return copies > 1 && bytes * (copies - 1) <= little;
}

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_UPDATES_H

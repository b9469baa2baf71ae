//===- Updates.h - How copies of a parameter are updated --------*- C++ -*-===//
//
// Decides for a region of a parameter that several devices hold: all-reduce of
// the gradient and an update on every device, or reduce-scatter of the
// gradient, an update of one part per device, and all-gather of the new values.
// train-shard carries it out (Updates.cpp), and the planner prices it
// (passes/plan/price/Exchanges.cpp), by this one rule.
//
// Does not decide which device owns which part (Updates.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_UPDATES_H
#define LWCC_PASSES_SHARD_UPDATES_H

#include "passes/shard/Rails.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lwcc::shard {

/// Whether every device that holds a region sums and updates all of it. True if
/// the gradients that each device reads are so few bytes that the latency of a
/// second exchange outweighs what it saves. A message takes as long as some
/// more bytes.
inline bool isAllReduced(int64_t bytes, int64_t copies) {
  constexpr int64_t little = 16 << 10, message = 64;
  return copies > 1 && (bytes + message) * (copies - 1) <= little;
}

/// Whether an exchange between several nodes goes over two levels, or three
/// (Rails.h): on each node one device sums the node's gradients for an owner on
/// another node, and passes its new values on. Then each part crosses the
/// network once per node and not once per device. For few bytes the second
/// hop's latency outweighs that.
inline bool isTwoLevel(int64_t bytes) {
  constexpr int64_t little = 16 << 10;
  return bytes > little;
}

/// How many of the holders of a region on several nodes own a part of it: the
/// parts cross the network one by one, and small ones would cost latency alone.
/// The more messages a part is, the larger it is. A message comes from each
/// holder; where nodes form groups (Rails.h), from each of a group, and then
/// from each group.
inline int64_t ownersAcrossNodes(int64_t bytes, int64_t holders,
                                 const Ways &ways) {
  const int64_t messages =
      ways.groups() < ways.nodes()
          ? holders / ways.nodes() * ways.ofGroup() + ways.groups()
          : holders;
  return std::clamp<int64_t>(bytes / leastPart(messages), 1, holders);
}

/// How the devices that hold copies of a region update it.
struct SharedUpdate {
  /// All-reduce: each device sums and updates the whole region. Otherwise each
  /// owns a part, and sends its new values to the others.
  bool allReduced = false;
  /// Bytes that each device updates. Parts are equal here; partsToUpdate
  /// (Updates.cpp) rounds them to aligned rows, a difference that prices
  /// neglect.
  double owned = 0;
};
/// How `copies` copies of a region of so many bytes are updated.
inline SharedUpdate updateOf(double bytes, size_t copies) {
  const bool allReduced =
      isAllReduced(static_cast<int64_t>(bytes), static_cast<int64_t>(copies));
  return {allReduced, allReduced ? bytes : bytes / static_cast<double>(copies)};
}

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_UPDATES_H

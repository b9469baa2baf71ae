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

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lwcc::shard {

/// Whether every device that holds a region sums and updates all of it. True if
/// the gradients that each device reads are so few bytes that the latency of a
/// second exchange outweighs what it saves.
inline bool isAllReduced(int64_t bytes, int64_t copies) {
  constexpr int64_t little = 16 << 10;
  return copies > 1 && bytes * (copies - 1) <= little;
}

/// Whether an exchange between several nodes goes over two levels: on each node
/// one device sums the node's gradients for an owner on another node, and
/// passes its new values on. Then each part crosses the network once per node
/// and not once per device. For few bytes the second hop's latency outweighs
/// that.
inline bool isTwoLevel(int64_t bytes) {
  constexpr int64_t little = 16 << 10;
  return bytes > little;
}

/// How many of the holders of a region on several nodes own a part of it: the
/// parts cross the network one by one, and small ones would cost latency alone.
/// The more holders, the larger are parts: each is sent by every node to its
/// owner and back. (Inception-v3, predicted: 8 KiB for each holder are quicker
/// than 2 and 4 on 4 nodes of 4 and on 16 nodes of 4, and than 16 on the
/// former.)
inline int64_t ownersAcrossNodes(int64_t bytes, int64_t holders) {
  const int64_t leastPart = (8 << 10) * holders;
  return std::clamp<int64_t>(bytes / leastPart, 1, holders);
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

//===- Place.h - Where work runs --------------------------------*- C++ -*-===//
//
// Defines the nouns of a place, for plans, IR and printer alike:
//
//   device   a GPU (or a virtual device) of a node
//   lane     an in-order queue of a device: a CUDA stream, or a thread of the
//            CPU target
//   place    a lane of a device: what a tile of a layer is given by a plan
//
// The text of a place, "node.gpu.lane", is written and read here alone. Plain
// C++; which places there are is a machine's business (passes/plan/machine).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_PLACE_H
#define LWCC_IR_PLACE_PLACE_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace lwcc {

/// What a lane is for. `compute` lanes are numbered, and a plan names them. The
/// others are copy lanes: a device exchanges with other devices on them, beside
/// its computation. There is one per purpose, so that what is waited for soon
/// never queues behind what is not.
enum class LaneKind {
  compute,
  in,    ///< fetches what forward passes read
  back,  ///< fetches what backward passes read
  sync,  ///< fetches gradients and new values of parameters, and updates them
  small, ///< fetches what is at most `smallBytes`: statistics, the loss
};
inline constexpr LaneKind laneKinds[] = {LaneKind::compute, LaneKind::in,
                                         LaneKind::back, LaneKind::sync,
                                         LaneKind::small};
llvm::StringRef laneKindName(LaneKind kind);
/// A transfer of so few bytes costs little but latency.
inline constexpr int64_t smallBytes = 64 << 10;

struct Lane {
  int64_t number = 0; ///< of a compute lane
  LaneKind kind = LaneKind::compute;

  static constexpr Lane of(LaneKind kind) { return {0, kind}; }
  bool isCopy() const { return kind != LaneKind::compute; }
  bool operator==(const Lane &) const = default;
  /// Compute lanes first, by number.
  auto operator<=>(const Lane &other) const {
    return std::pair(kind, number) <=> std::pair(other.kind, other.number);
  }
  std::string text() const; ///< "0", "sync"
};

struct DeviceId {
  int64_t node = 0, gpu = 0;
  bool operator==(const DeviceId &) const = default;
  auto operator<=>(const DeviceId &) const = default;
  std::string
  name() const; ///< "gpu0", of other nodes than the first "node1.gpu0"
};

struct Place {
  int64_t node = 0, gpu = 0;
  Lane lane;

  DeviceId device() const { return {node, gpu}; }
  /// Another lane of the same device.
  Place on(Lane other) const { return {node, gpu, other}; }
  bool operator==(const Place &) const = default;
  auto operator<=>(const Place &) const = default;
  std::string text() const; ///< "0.1.0", "0.1.sync"
};

/// The reverse of Place::text; nullopt where `text` is no place.
std::optional<Place> parsePlace(llvm::StringRef text);

/// For MLIR's attribute storage.
inline llvm::hash_code hash_value(const Place &place) {
  return llvm::hash_combine(place.node, place.gpu,
                            static_cast<int>(place.lane.kind),
                            place.lane.number);
}

} // namespace lwcc

#endif // LWCC_IR_PLACE_PLACE_H

//===- Timing.h - How long the tasks of placed layers take ------*- C++ -*-===//
//
// The durations that the simulator puts on lanes: of a layer's kernels, per
// device; of bringing a tensor, or gradients and new values of parameters, to
// each device that needs them. When they start is the simulator's business.
//
// Time is counted in whole picoseconds: sums do not depend on their order, so
// that simulating a part of a step again gives what all of it would.
//
// Layers with equal signatures under equal tilings and places share one answer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_TIMING_H
#define LWCC_PASSES_PLAN_TIMING_H

#include "passes/plan/Solvers.h"
#include "passes/plan/Traffic.h"

#include "llvm/ADT/Hashing.h"

#include <memory>
#include <unordered_map>

namespace lwcc::plan {

using Ticks = int64_t; ///< picoseconds
inline constexpr double ticksPerSecond = 1e12;
/// A set of devices has a bit for each: no plan has more than 64 of them.
using DeviceSet = uint64_t;
inline constexpr int64_t mostDevices = 64;

/// What a device receives in one call on its transfer lane.
struct Arrival {
  int device = 0;
  DeviceSet sources = 0;
  Ticks duration = 0;
  int64_t bytes = 0;
};
struct Exchange {
  std::vector<Arrival> arrivals; ///< by device
  int64_t bytes() const;
};

/// A layer that is cut and placed in one way.
struct TimedLayer {
  std::vector<Ticks> busy[3]; ///< by stage, per device: its kernels
  std::vector<RegionSet> made, read;
  /// Gradients to the owners of parameters, and new values back. A device that
  /// owns something that nobody else holds updates it on its compute lane.
  Exchange reduce, gather;
  std::vector<Ticks> update, ownUpdate; ///< per device: owned, held alone
  /// Per device: parameters, their gradients, optimizer state, and what the
  /// forward pass makes, which lives until the backward pass.
  std::vector<int64_t> memory;
};

class Timing {
public:
  explicit Timing(const Problem &problem);

  std::shared_ptr<const TimedLayer> layer(int layer, const Tiling &tiling);
  void exchange(const RegionSet &made, const RegionSet &read,
                int64_t elementBytes, Exchange &result);
  /// What a kernel loses while a transfer of this length runs beside it.
  Ticks slowdown(Ticks transfer) const {
    return static_cast<Ticks>(static_cast<double>(transfer) *
                              problem.machine.transferSlowdown);
  }

private:
  /// Bytes from device to device that go at the same time.
  struct Flows {
    explicit Flows(const Machine &machine);
    void add(int64_t from, int64_t to, double bytes);
    void clear();
    std::vector<double> in, out;
    std::vector<SharedLoad> loads;
    std::vector<DeviceSet> sources;
  };
  void finish(const Flows &flows, Exchange &result) const;
  const LayerTiles &tilesOf(int kind, int layer, const Tiling &tiling);
  void synchronize(const LayerTiles::Regions &regions,
                   const std::vector<int64_t> &devices, TimedLayer &timed,
                   Flows &reduce, Flows &gather) const;
  Ticks ticks(double seconds) const;

  const Problem &problem;
  AxisOverlaps overlaps;
  std::vector<int> kinds; ///< of each layer: the number of its signature
  using Key = std::vector<int64_t>;
  struct HashKey {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };
  std::unordered_map<Key, LayerTiles, HashKey> tiles; ///< by kind and cuts
  /// By these and places.
  std::unordered_map<Key, std::shared_ptr<const TimedLayer>, HashKey> layers;
  Flows scratch;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_TIMING_H

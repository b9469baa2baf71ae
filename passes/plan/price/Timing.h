//===- Timing.h - How long the tasks of placed layers take ------*- C++ -*-===//
//
// The durations that the simulator puts on lanes: of a layer's kernels, per
// device; of bringing a tensor, or gradients and new values of parameters, to
// each device that needs them. When they start is the simulator's business.
//
// Time is counted in whole picoseconds: sums do not depend on their order, so
// that simulating a part of a step again gives what all of it would.
//
// Layers with equal signatures under equal tilings and places share one answer,
// and so do exchanges between equal regions on equal devices.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_TIMING_H
#define LWCC_PASSES_PLAN_PRICE_TIMING_H

#include "passes/plan/price/Exchanges.h"
#include "passes/plan/price/Setting.h"

#include <memory>
#include <unordered_map>

namespace lwcc::plan {

using Ticks = int64_t; ///< picoseconds
inline constexpr double ticksPerSecond = 1e12;

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
  /// What there is a number of for each device.
  enum Row {
    forward, ///< its kernels, by stage
    backward,
    weightGradient,
    update,    ///< of parameters that it owns and others hold, too
    ownUpdate, ///< of those that it holds alone
    /// Bytes: parameters, their gradients, optimizer state, and what the
    /// forward pass makes, which lives until the backward pass.
    memory,
    rowCount
  };
  explicit TimedLayer(int64_t devices)
      : devices(devices), values(rowCount * devices) {}
  int64_t *operator[](Row row) { return &values[row * devices]; }
  const int64_t *operator[](Row row) const { return &values[row * devices]; }
  const Ticks *busy(Stage stage) const {
    return (*this)[static_cast<Row>(stage)];
  }

  std::vector<RegionSet> made, read;
  /// Gradients to the owners of parameters, and new values back. A device that
  /// owns something that nobody else holds updates it on its compute lane.
  Exchange reduce, gather;

private:
  int64_t devices;
  std::vector<int64_t> values;
};

class Timing {
public:
  explicit Timing(const Setting &setting);

  std::shared_ptr<const TimedLayer> layer(int layer, const Tiling &tiling);
  /// Null if nothing moves.
  std::shared_ptr<const Exchange>
  exchange(const RegionSet &made, const RegionSet &read, int64_t elementBytes);
  /// What a kernel loses while a transfer of this length runs beside it.
  Ticks slowdown(Ticks transfer) const {
    return static_cast<Ticks>(static_cast<double>(transfer) *
                              setting.machine.transferSlowdown);
  }

private:
  /// Numbers as bytes, few where they are small.
  using Key = std::string;
  /// Transfers that go at the same time, and where each device gets its from.
  struct Flows {
    explicit Flows(const Machine &machine)
        : traffic(machine), sources(machine.devices()) {}
    void add(int64_t from, int64_t to, double bytes);
    void clear();
    Traffic traffic;
    std::vector<DeviceSet> sources;
  };
  void finish(const Flows &flows, Exchange &result) const;
  const LayerTiles &tilesOf(const Key &key, int layer, const Tiling &tiling);
  void synchronize(const LayerTiles::Regions &regions,
                   const std::vector<int64_t> &devices, TimedLayer &timed,
                   Flows &reduce, Flows &gather) const;
  Ticks ticks(double seconds) const;

  const Setting setting;
  /// More answers than this are not kept: a long search asks for ever new
  /// places. Each takes memory in proportion to the devices.
  const size_t mostRemembered;
  AxisOverlaps overlaps;
  std::vector<int> kinds; ///< of each layer: the number of its signature
  std::unordered_map<Key, LayerTiles> tiles; ///< by kind and cuts
  /// By these and places.
  std::unordered_map<Key, std::shared_ptr<const TimedLayer>> layers;
  /// By the numbers of both sets (30 bits each) and an element's bytes.
  llvm::DenseMap<uint64_t, std::shared_ptr<const Exchange>> exchanges;
  Key key; ///< scratch
  Flows scratch;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_TIMING_H

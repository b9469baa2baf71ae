//===- Timing.h - How long the tasks of placed layers take ------*- C++ -*-===//
//
// How long each task of a simulated step takes: a layer's kernels on each
// device, and what each device receives of a tensor, of gradients or of new
// values of parameters. When a task starts is the business of Simulator.h.
//
// Time is counted in whole picoseconds. Sums then do not depend on their order,
// so that simulating a part of a step again gives exactly what simulating all
// of it would.
//
// Answers are remembered. Layers with equal signatures under equal tilings and
// places share one; so do exchanges between equal regions on equal devices.
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

/// What a device receives at once.
struct Arrival {
  int device = 0;
  DeviceSet sources;
  Ticks duration = 0;
  int64_t bytes = 0;
};
/// A call that cuts, joins or adds parts of what is exchanged, on the compute
/// lane of a device. It reads what `sources` have made, where it lies.
struct AssemblyTask {
  int device = 0;
  DeviceSet sources;
  Ticks duration = 0;
  int64_t received = 0; ///< bytes, from these
  int64_t made = 0;     ///< bytes, of its result
};
/// What it takes to bring a tensor, or gradients or new values of parameters,
/// where they are read.
struct Exchange {
  std::vector<AssemblyTask> before; ///< calls on what is then sent
  std::vector<Arrival> arrivals;    ///< by device
  std::vector<AssemblyTask> after;  ///< calls on what has arrived
  /// Bytes that devices get from others.
  int64_t bytes() const;
};

/// The tasks of a layer that is cut and placed in one way.
struct TimedLayer {
  /// Ticks, or bytes in the last row; one number for each device.
  enum Row {
    forward, ///< kernels, by phase
    backward,
    weight,
    update,    ///< of parameters that the device owns and others hold, too
    ownUpdate, ///< of parameters that the device holds alone
    /// Parameters, their gradients, optimizer state, and what the forward pass
    /// makes, which lives until the backward pass.
    memory,
    rowCount
  };
  explicit TimedLayer(int64_t devices)
      : devices(devices), values(rowCount * devices) {}
  int64_t *operator[](Row row) { return &values[row * devices]; }
  const int64_t *operator[](Row row) const { return &values[row * devices]; }
  const Ticks *busy(Phase phase) const {
    return (*this)[static_cast<Row>(phase)];
  }

  std::vector<RegionSet> made, read;
  /// Gradients go to the owners of parameters, new values go back. Parameters
  /// that one device holds alone take part in neither.
  Exchange reduce, gather;

private:
  int64_t devices;
  std::vector<int64_t> values;
};

class Timing {
public:
  explicit Timing(const Setting &setting);

  std::shared_ptr<const TimedLayer> layer(int layer, const Tiling &tiling);
  /// What must move between two sets of regions, of which isThere does not say
  /// that nothing must; null if nothing must all the same. What
  /// is in `there`, too, has been brought before.
  std::shared_ptr<const Exchange>
  exchange(const RegionSet &made, const RegionSet &read,
           llvm::ArrayRef<const RegionSet *> there, int64_t elementBytes);
  /// How much later a kernel ends if a transfer of this length runs beside it.
  Ticks slowdown(Ticks transfer) const {
    return static_cast<Ticks>(static_cast<double>(transfer) *
                              setting.machine.transferSlowdown);
  }

private:
  /// A list of numbers; small ones take one byte each.
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
  AssemblyTask timed(const Assembly::Call &call, const Flows &flows) const;
  const LayerTiles &tilesOf(const Key &key, int layer, const Tiling &tiling);
  void synchronize(const Parameter &parameter,
                   const LayerTiles::Regions &regions,
                   const std::vector<int64_t> &devices, TimedLayer &timed,
                   Flows &reduce, Flows &gather) const;
  Ticks ticks(double seconds) const;

  const Setting setting;
  /// How many answers are remembered: a long search asks for ever new places.
  /// An answer takes memory in proportion to the number of devices.
  const size_t mostRemembered;
  AxisOverlaps overlaps;
  std::vector<int> kinds; ///< the number of each layer's signature
  std::unordered_map<Key, LayerTiles> tiles; ///< by kind and cuts
  /// By kind, cuts and places.
  std::unordered_map<Key, std::shared_ptr<const TimedLayer>> layers;
  /// By the numbers of what is made and of what is to be brought (30 bits each)
  /// and the bytes of an element.
  llvm::DenseMap<uint64_t, std::shared_ptr<const Exchange>> exchanges;
  Key key; ///< scratch
  Flows sent, readRemotely;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_TIMING_H

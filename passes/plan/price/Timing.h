//===- Timing.h - How long the tasks of placed layers take ------*- C++ -*-===//
//
// How long each task of a simulated step takes: a layer's kernels on each
// device, and what each device receives of a tensor, of gradients or of new
// values of parameters. When a task starts is the business of Simulator.h.
//
// Answers are remembered, by numbers. Layers with equal signatures under equal
// tilings and places share one; so do exchanges between equal regions on
// devices that are placed alike (DeviceLists.h). They stay where they are until
// forget(), for which whoever holds answers says when.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_TIMING_H
#define LWCC_PASSES_PLAN_PRICE_TIMING_H

#include "passes/plan/price/CutLayers.h"
#include "passes/plan/price/DeviceLists.h"
#include "passes/plan/price/GridAssembly.h"

#include <deque>
#include <memory>

namespace lwcc::plan {

/// What a device receives at once.
struct Arrival {
  int device = 0;
  int sources = 0; ///< which of Exchange::sources
  Ticks duration = 0;
  int64_t bytes = 0;
};
/// A call that cuts, joins or adds parts of what is exchanged, on the compute
/// lane of a device. It reads what `sources` have made, where it lies.
struct AssemblyTask {
  int device = 0;
  int sources = -1; ///< which of Exchange::sources; -1: none
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
  Ticks cutting = 0;                ///< that calls before take in all
  /// Devices that others wait for. One that is in a set with those that it
  /// waits for does not wait for itself: many devices share a set then.
  std::vector<DeviceSet> sources;
  /// The number of the set of these and the one that waits. Equal sets may have
  /// several.
  int numberOf(DeviceSet set, int64_t device);
  bool isEmpty() const {
    return before.empty() && arrivals.empty() && after.empty();
  }
  /// Bytes that devices get from others.
  int64_t bytes() const;
};
/// An exchange between devices in canonical form, and what these are called.
struct PlacedExchange {
  const Exchange *exchange = nullptr; ///< null: nothing moves
  const int *names = nullptr;         ///< of each device in the exchange
  explicit operator bool() const { return exchange != nullptr; }
  bool operator==(const PlacedExchange &) const = default;
};

/// The regions of a tensor that the tiles of a placed layer make or read.
struct PlacedTensor {
  const TiledTensor *tiled;
  int number;       ///< of the tiled tensor
  int devices;      ///< of its regions (DeviceLists)
  bool isPartition; ///< whether each element is in one region, on one device
  bool operator==(const PlacedTensor &other) const {
    return number == other.number && devices == other.devices;
  }
  /// Whether nothing must move: every device made what it reads, and no other
  /// device did.
  static bool isThere(const PlacedTensor &made, const PlacedTensor &read) {
    return made.isPartition && made == read;
  }
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

  std::vector<PlacedTensor> made, read;
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

  const TimedLayer &layer(int layer, const Tiling &tiling);
  /// What must move between two sets of regions, of which isThere does not say
  /// that nothing must. What is in `there`, too, has been brought before.
  PlacedExchange exchange(const PlacedTensor &made, const PlacedTensor &read,
                          llvm::ArrayRef<const PlacedTensor *> there,
                          int64_t elementBytes);
  /// How much later a kernel ends if a transfer of this length runs beside it.
  Ticks slowdown(Ticks transfer) const {
    return static_cast<Ticks>(static_cast<double>(transfer) *
                              setting.machine.transferSlowdown);
  }

  /// Whether much was asked for that is not needed any more: a long search asks
  /// for ever new places.
  bool isFull() const { return remembered() > mostRemembered; }
  /// Forgets all answers. Those that are asked for until hold() are needed on.
  void forget();
  void hold() { mostRemembered = remembered() + mostAsked; }

private:
  /// Transfers that go at the same time, and where each device gets its from.
  struct Flows {
    explicit Flows(const Machine &machine)
        : traffic(machine), sources(machine.devices()) {}
    void add(int64_t from, int64_t to, double bytes);
    void clear();
    Traffic traffic;
    std::vector<DeviceSet> sources;
  };
  TimedLayer makeLayer(int layer, const CutLayer &cut, int list);
  PlacedTensor place(const TiledTensor &tensor, int list) const;
  PlacedTensor placeTiles(const TiledTensor &tensor, int list);
  PlacedTensor without(const PlacedTensor &read, const PlacedTensor &there);
  Assembly assemblyOf(const PlacedTensor &made, const PlacedTensor &read,
                      int64_t elementBytes, DeviceLists::Devices devices);
  Exchange makeExchange(const Assembly &assembly);
  void finish(const Flows &flows, Exchange &result) const;
  AssemblyTask timed(const Assembly::Call &call, const Flows &flows,
                     Exchange &result) const;
  void synchronize(const Parameter &parameter,
                   const LayerTiles::Regions &regions,
                   const std::vector<int64_t> &devices, TimedLayer &timed);
  size_t remembered() const {
    return layers.size() + exchanges.size() + lists.size() +
           gridSizes / setting.machine.devices();
  }

  const Setting setting;
  /// How many answers may be asked for until they are forgotten. An answer
  /// takes memory in proportion to the number of devices.
  const size_t mostAsked;
  size_t mostRemembered;
  CutLayers cuts;
  DeviceLists lists;
  std::deque<TimedLayer> madeLayers;
  /// By the number of the cut layer and the list of its tiles' devices.
  llvm::DenseMap<std::pair<int, int>, const TimedLayer *> layers;
  /// By the numbers of what is made and of what is to be brought (30 bits each)
  /// and the bytes of an element. Null: they are no grids.
  llvm::DenseMap<uint64_t, std::unique_ptr<GridAssembly>> grids;
  size_t gridSizes = 0; ///< of all of these
  std::deque<Exchange> madeExchanges;
  /// By the same and the canonical form of the devices. Null: nothing moves.
  llvm::DenseMap<std::pair<uint64_t, int>, const Exchange *> exchanges;
  Flows sent, readRemotely, reduced, gathered; ///< scratch
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_TIMING_H

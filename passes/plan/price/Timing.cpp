//===- Timing.cpp - How long the tasks of placed layers take --------------===//

#include "passes/plan/price/Timing.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace lwcc;
using namespace lwcc::plan;

int64_t Exchange::bytes() const {
  int64_t sum = 0;
  for (const Arrival &arrival : arrivals)
    sum += arrival.bytes;
  for (const auto *tasks : {&before, &after})
    for (const AssemblyTask &task : *tasks)
      sum += task.received;
  return sum;
}

/// How many of the last sets are compared with a new one. Where sets are equal,
/// those that follow each other are.
static constexpr int fewSets = 4;

int Exchange::numberOf(DeviceSet set, int64_t device) {
  set.insert(device);
  const auto count = static_cast<int>(sources.size());
  for (int number = count - 1; number >= std::max(count - fewSets, 0); --number)
    if (sources[number] == set)
      return number;
  sources.push_back(std::move(set));
  return count;
}

void Timing::Flows::add(int64_t from, int64_t to, double bytes) {
  if (from == to || bytes == 0)
    return;
  sources[to].insert(from);
  traffic.add(from, to, bytes);
}

void Timing::Flows::clear() {
  traffic.clear();
  for (DeviceSet &set : sources)
    set.clear();
}

void Timing::finish(const Flows &flows, Exchange &result) const {
  for (int64_t to = 0; to < setting.machine.devices(); ++to)
    if (const DeviceSet &sources = flows.sources[to]; !sources.empty())
      result.arrivals.push_back(
          {static_cast<int>(to), result.numberOf(sources, to),
           ticksOf(flows.traffic.seconds(to, sources)),
           static_cast<int64_t>(flows.traffic.received(to))});
}

Timing::Timing(const Setting &setting)
    : setting(setting), mostAsked((1 << 21) / setting.machine.devices()),
      mostRemembered(mostAsked), cuts(setting), lists(setting.machine),
      sent(setting.machine), readRemotely(setting.machine),
      reduced(setting.machine), gathered(setting.machine) {
  assert(setting.machine.devices() <= mostDevices && "the driver's limit");
}

void Timing::forget() {
  layers.clear();
  madeLayers.clear();
  exchanges.clear();
  madeExchanges.clear();
  grids.clear();
  gridSizes = 0;
  lists.clear();
}

/// Each device that holds a region updates what it owns of it: it gets the
/// others' gradients of that, and sends them the new values unless they made
/// these themselves. Where an exchange has two hops, both are taken to be at
/// the same time.
void Timing::synchronize(const Parameter &parameter,
                         const LayerTiles::Regions &regions,
                         const std::vector<int64_t> &devices,
                         TimedLayer &timed) {
  const double state = // bytes for each byte of the parameter
      static_cast<double>(parameter.stateBytes) /
      static_cast<double>(parameter.elementBytes);
  for (const ParameterCopies &copies :
       parameterCopies(parameter, regions, devices)) {
    const size_t count = copies.devices.size();
    const double owned = copies.update.owned;
    std::map<int64_t, double> read; // gradients, bytes by device
    for (const SyncHop &hop : hopsOf(copies, setting.machine)) {
      (hop.reduces ? reduced : gathered).add(hop.from, hop.to, hop.bytes);
      if (hop.reduces)
        read[hop.to] += hop.bytes;
    }
    for (int64_t to : copies.devices) {
      // Value and state are read and written, gradients are read.
      Work work;
      work.bytes = owned * (2 * (1 + state) + 1) + read[to];
      work.key = parameter.update;
      Ticks time = ticksOf(setting.costs.seconds(work));
      timed[count > 1 ? TimedLayer::update : TimedLayer::ownUpdate][to] += time;
      timed[TimedLayer::memory][to] +=
          static_cast<int64_t>(2 * copies.bytes + owned * state);
    }
  }
}

PlacedTensor Timing::place(const TiledTensor &tensor, int list) const {
  return {&tensor, tensor.set.number(), list,
          tensor.isDisjoint() && lists.isOnce(list)};
}

/// `list` has the devices of all tiles.
PlacedTensor Timing::placeTiles(const TiledTensor &tensor, int list) {
  if (tensor.tiles.size() == lists[list].size())
    return place(tensor, list);
  llvm::SmallVector<int, 64> some;
  for (int tile : tensor.tiles)
    some.push_back(lists[list][tile]);
  return place(tensor, lists.number(some));
}

/// What is read and not there.
PlacedTensor Timing::without(const PlacedTensor &read,
                             const PlacedTensor &there) {
  const DeviceLists::Devices devices = lists[read.devices],
                             before = lists[there.devices];
  llvm::SmallVector<int64_t, 64> kept;
  llvm::SmallVector<int, 64> keptOn;
  for (auto [i, device] : llvm::enumerate(devices)) {
    bool isThere = false;
    for (size_t j = 0; j < before.size() && !isThere; ++j)
      isThere = before[j] == device &&
                there.tiled->regions[j] == read.tiled->regions[i];
    if (isThere)
      continue;
    kept.push_back(static_cast<int64_t>(i));
    keptOn.push_back(device);
  }
  if (kept.size() == devices.size())
    return read;
  return place(cuts.partOf(*read.tiled, kept), lists.number(keptOn));
}

TimedLayer Timing::makeLayer(int layer, const CutLayer &cut, int list) {
  const std::vector<int64_t> devices(lists[list].begin(), lists[list].end());
  TimedLayer timed(setting.machine.devices());
  for (auto [tile, device] : llvm::zip_equal(cut.tiles, devices)) {
    for (auto [phase, busy] : llvm::enumerate(tile.busy))
      timed[static_cast<TimedLayer::Row>(phase)][device] += busy;
    timed[TimedLayer::memory][device] += tile.made;
  }
  for (const TiledTensor &tensor : cut.made)
    timed.made.push_back(placeTiles(tensor, list));
  for (const TiledTensor &tensor : cut.read)
    timed.read.push_back(placeTiles(tensor, list));
  reduced.clear();
  gathered.clear();
  for (auto [parameter, regions] :
       llvm::zip_equal(setting.graph.layers[layer].params, cut.params))
    synchronize(parameter, regions, devices, timed);
  finish(reduced, timed.reduce);
  finish(gathered, timed.gather);
  return timed;
}

const TimedLayer &Timing::layer(int layer, const Tiling &tiling) {
  llvm::SmallVector<int, 64> devices;
  for (const Place &place : tiling.places)
    devices.push_back(static_cast<int>(setting.machine.deviceOf(place)));
  const CutLayer &cut = cuts.of(layer, tiling);
  const int list = lists.number(devices);
  auto [known, isNew] = layers.try_emplace({cut.number, list});
  if (isNew)
    known->second = &madeLayers.emplace_back(makeLayer(layer, cut, list));
  return *known->second;
}

static uint64_t tensorsOf(const PlacedTensor &made, const PlacedTensor &read,
                          int64_t elementBytes) {
  return static_cast<uint64_t>(made.number) << 34 |
         static_cast<uint64_t>(read.number) << 4 |
         static_cast<uint64_t>(elementBytes);
}

PlacedExchange Timing::exchange(const PlacedTensor &made,
                                const PlacedTensor &read,
                                llvm::ArrayRef<const PlacedTensor *> there,
                                int64_t elementBytes) {
  assert(!PlacedTensor::isThere(made, read) && "asked without need");
  PlacedTensor missing = read;
  for (const PlacedTensor *brought : there)
    missing = without(missing, *brought);
  const DeviceLists::Canonical canonical =
      lists.canonical(lists.joined(made.devices, missing.devices));
  auto [known, isNew] = exchanges.try_emplace(
      {tensorsOf(made, missing, elementBytes), canonical.list});
  if (isNew)
    if (Exchange exchange = makeExchange(
            assemblyOf(made, missing, elementBytes, lists[canonical.list]));
        !exchange.isEmpty())
      known->second = &madeExchanges.emplace_back(std::move(exchange));
  if (!known->second)
    return {};
  return {known->second, canonical.names};
}

/// The calls between these devices, first those of the makers.
Assembly Timing::assemblyOf(const PlacedTensor &made, const PlacedTensor &read,
                            int64_t elementBytes,
                            DeviceLists::Devices devices) {
  const DeviceLists::Devices makers =
                                 devices.take_front(made.tiled->tiles.size()),
                             readers = devices.drop_front(makers.size());
  if (!setting.costs.isMeasured() && lists.isOnce(made.devices) &&
      lists.isOnce(read.devices)) {
    auto [grid, isNew] = grids.try_emplace(tensorsOf(made, read, elementBytes));
    if (isNew)
      if (std::optional<GridAssembly> found = GridAssembly::of(
              made.tiled->set, read.tiled->set, elementBytes, cuts.axes())) {
        gridSizes += found->size();
        grid->second = std::make_unique<GridAssembly>(std::move(*found));
      }
    if (grid->second)
      return grid->second->on(makers, readers);
  }
  auto placed = [](const PlacedTensor &tensor, DeviceLists::Devices devices) {
    std::vector<PlacedRegion> regions;
    for (auto [region, device] :
         llvm::zip_equal(tensor.tiled->regions, devices))
      regions.push_back({*region, device});
    return regions;
  };
  return assemble(placed(made, makers), placed(read, readers), elementBytes,
                  setting.costs.isMeasured());
}

Exchange Timing::makeExchange(const Assembly &assembly) {
  sent.clear();
  for (const Flow &flow : assembly.sent)
    sent.add(flow.from, flow.to, flow.bytes);
  readRemotely.clear();
  for (const Assembly::Call &call : assembly.calls)
    for (const Flow &flow : call.remote)
      readRemotely.add(flow.from, flow.to, flow.bytes);
  Exchange result;
  finish(sent, result);
  for (const Assembly::Call &call : assembly.calls)
    (call.sends ? result.before : result.after)
        .push_back(timed(call, readRemotely, result));
  for (const AssemblyTask &task : result.before)
    result.cutting += task.duration;
  return result;
}

/// A call takes as long as its kernel, or its part of the time in which all
/// that devices read of each other passes the links.
AssemblyTask Timing::timed(const Assembly::Call &call, const Flows &flows,
                           Exchange &result) const {
  AssemblyTask task;
  DeviceSet sources;
  task.device = static_cast<int>(call.device);
  for (const Flow &flow : call.remote) {
    sources.insert(flow.from);
    task.received += static_cast<int64_t>(flow.bytes);
  }
  double seconds = setting.costs.seconds(call.work);
  if (!sources.empty()) {
    task.sources = result.numberOf(sources, call.device);
    seconds = std::max(seconds, flows.traffic.seconds(call.device, sources) *
                                    static_cast<double>(task.received) /
                                    flows.traffic.received(call.device));
  }
  task.duration = ticksOf(seconds);
  task.made = static_cast<int64_t>(call.made);
  return task;
}

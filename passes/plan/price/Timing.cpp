//===- Timing.cpp - How long the tasks of placed layers take --------------===//

#include "passes/plan/price/Timing.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
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
  result.arrivals.clear();
  for (int64_t to = 0; to < setting.machine.devices(); ++to)
    if (const DeviceSet &sources = flows.sources[to]; !sources.empty())
      result.arrivals.push_back(
          {static_cast<int>(to), sources,
           ticks(flows.traffic.seconds(to, sources)),
           static_cast<int64_t>(flows.traffic.received(to))});
}

Timing::Timing(const Setting &setting)
    : setting(setting), mostRemembered((1 << 20) / setting.machine.devices()),
      sent(setting.machine), readRemotely(setting.machine) {
  assert(setting.machine.devices() <= mostDevices && "the driver's limit");
  std::map<std::string, int> known;
  for (const LayerGraph::Layer &layer : setting.graph.layers)
    kinds.push_back(
        known.try_emplace(layer.signature, known.size()).first->second);
}

Ticks Timing::ticks(double seconds) const {
  return std::llround(seconds * ticksPerSecond);
}

/// Appends seven bits a byte, the lowest first.
static void append(int64_t number, std::string &key) {
  for (; number >> 7; number >>= 7)
    key.push_back(static_cast<char>(number | 1 << 7));
  key.push_back(static_cast<char>(number));
}

/// Appends the degrees and sizes of a tiling.
static void appendCuts(const Tiling &tiling, std::string &key) {
  int64_t uneven = 0;
  for (auto [d, sizes] : llvm::enumerate(tiling.sizes)) {
    append(tiling.degrees[d], key);
    uneven |= static_cast<int64_t>(!sizes.empty()) << d;
  }
  append(uneven, key);
  for (const std::vector<int64_t> &sizes : tiling.sizes)
    for (int64_t size : sizes)
      append(size, key);
}

const LayerTiles &Timing::tilesOf(const Key &key, int layer,
                                  const Tiling &tiling) {
  auto [entry, isNew] = tiles.try_emplace(key);
  if (isNew)
    entry->second = setting.graph.tiles(layer, tiling);
  return entry->second;
}

/// Each device that holds a region updates what it owns of it: it gets the
/// others' gradients of that, and sends them the new values unless they made
/// these themselves. Where an exchange has two hops, both are taken to be at
/// the same time.
void Timing::synchronize(const Parameter &parameter,
                         const LayerTiles::Regions &regions,
                         const std::vector<int64_t> &devices, TimedLayer &timed,
                         Flows &reduce, Flows &gather) const {
  const double state = // bytes for each byte of the parameter
      static_cast<double>(parameter.stateBytes) /
      static_cast<double>(parameter.elementBytes);
  for (const ParameterCopies &copies :
       parameterCopies(parameter, regions, devices)) {
    const size_t count = copies.devices.size();
    const double owned = copies.update.owned;
    std::map<int64_t, double> read; // gradients, bytes by device
    for (const SyncHop &hop : hopsOf(copies, setting.machine)) {
      (hop.reduces ? reduce : gather).add(hop.from, hop.to, hop.bytes);
      if (hop.reduces)
        read[hop.to] += hop.bytes;
    }
    for (int64_t to : copies.devices) {
      // Value and state are read and written, gradients are read.
      Work work;
      work.bytes = owned * (2 * (1 + state) + 1) + read[to];
      work.key = parameter.update;
      Ticks time = ticks(setting.costs.seconds(work));
      timed[count > 1 ? TimedLayer::update : TimedLayer::ownUpdate][to] += time;
      timed[TimedLayer::memory][to] +=
          static_cast<int64_t>(2 * copies.bytes + owned * state);
    }
  }
}

std::shared_ptr<const TimedLayer> Timing::layer(int layer,
                                                const Tiling &tiling) {
  key.clear();
  append(kinds[layer], key);
  appendCuts(tiling, key);
  const size_t cuts = key.size();
  for (const Place &place : tiling.places)
    append(setting.machine.deviceOf(place), key);
  if (auto known = layers.find(key); known != layers.end())
    return known->second;

  std::vector<int64_t> devices;
  for (const Place &place : tiling.places)
    devices.push_back(setting.machine.deviceOf(place));
  if (layers.size() > mostRemembered)
    layers.clear();
  std::shared_ptr<const TimedLayer> &known = layers[key];
  const LayerTiles &cut = tilesOf(key.substr(0, cuts), layer, tiling);
  const LayerGraph::Layer &described = setting.graph.layers[layer];
  auto timed = std::make_shared<TimedLayer>(setting.machine.devices());
  for (auto [work, device] : llvm::zip_equal(cut.work, devices))
    for (const Work &kernel : work)
      (*timed)[static_cast<TimedLayer::Row>(kernel.phase)][device] +=
          ticks(setting.costs.seconds(kernel));
  for (auto [tensor, regions] : llvm::zip_equal(described.made, cut.made)) {
    timed->made.emplace_back(regions, devices, overlaps);
    const Tensor &made = setting.graph.tensors[tensor];
    for (auto [region, device] : llvm::zip_equal(regions, devices))
      if (region && made.made == Phase::forward)
        (*timed)[TimedLayer::memory][device] += static_cast<int64_t>(
            tiling::volume(*region) * static_cast<double>(made.elementBytes));
  }
  for (const LayerTiles::Regions &regions : cut.read)
    timed->read.emplace_back(regions, devices, overlaps);
  Flows reduce(setting.machine), gather(setting.machine);
  for (auto [parameter, regions] :
       llvm::zip_equal(described.params, cut.params))
    synchronize(parameter, regions, devices, *timed, reduce, gather);
  finish(reduce, timed->reduce);
  finish(gather, timed->gather);
  known = std::move(timed);
  return known;
}

std::shared_ptr<const Exchange>
Timing::exchange(const RegionSet &made, const RegionSet &read,
                 llvm::ArrayRef<const RegionSet *> there,
                 int64_t elementBytes) {
  assert(!RegionSet::isThere(made, read) && "asked without need");
  if (exchanges.size() > mostRemembered)
    exchanges.clear();
  int wanted = read.number();
  if (!there.empty()) {
    std::vector<int> numbers = {-1, wanted}; // no set of regions is like that
    for (const RegionSet *set : there)
      numbers.push_back(set->number());
    wanted = overlaps.numberOfSet(numbers);
  }
  auto [known, isNew] = exchanges.try_emplace(
      static_cast<uint64_t>(made.number()) << 34 |
      static_cast<uint64_t>(wanted) << 4 | static_cast<uint64_t>(elementBytes));
  if (!isNew)
    return known->second;
  std::optional<Assembly> ofGrids;
  if (there.empty() && !setting.costs.isMeasured())
    ofGrids = RegionSet::assembleGrids(made, read, elementBytes, overlaps);
  std::vector<PlacedRegion> missing;
  if (!ofGrids)
    missing = read.regions();
  for (const RegionSet *set : there)
    llvm::erase_if(missing,
                   [&, brought = set->regions()](const PlacedRegion &region) {
                     return llvm::is_contained(brought, region);
                   });
  const Assembly assembly =
      ofGrids ? std::move(*ofGrids)
              : assemble(made.regions(), missing, elementBytes,
                         setting.costs.isMeasured());
  sent.clear();
  for (const Flow &flow : assembly.sent)
    sent.add(flow.from, flow.to, flow.bytes);
  readRemotely.clear();
  for (const Assembly::Call &call : assembly.calls)
    for (const Flow &flow : call.remote)
      readRemotely.add(flow.from, flow.to, flow.bytes);
  auto result = std::make_shared<Exchange>();
  finish(sent, *result);
  for (const Assembly::Call &call : assembly.calls)
    (call.sends ? result->before : result->after)
        .push_back(timed(call, readRemotely));
  if (!assembly.sent.empty() || !assembly.calls.empty())
    known->second = std::move(result);
  return known->second;
}

/// A call takes as long as its kernel, or its part of the time in which all
/// that devices read of each other passes the links.
AssemblyTask Timing::timed(const Assembly::Call &call,
                           const Flows &flows) const {
  AssemblyTask task;
  task.device = static_cast<int>(call.device);
  for (const Flow &flow : call.remote) {
    task.sources.insert(flow.from);
    task.received += static_cast<int64_t>(flow.bytes);
  }
  double seconds = setting.costs.seconds(call.work);
  if (!task.sources.empty())
    seconds =
        std::max(seconds, flows.traffic.seconds(call.device, task.sources) *
                              static_cast<double>(task.received) /
                              flows.traffic.received(call.device));
  task.duration = ticks(seconds);
  task.made = static_cast<int64_t>(call.made);
  return task;
}

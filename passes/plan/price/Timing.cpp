//===- Timing.cpp - How long the tasks of placed layers take --------------===//

#include "passes/plan/price/Timing.h"
#include "passes/shard/Updates.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cmath>
#include <map>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

int64_t Exchange::bytes() const {
  int64_t sum = 0;
  for (const Arrival &arrival : arrivals)
    sum += arrival.bytes;
  return sum;
}

Timing::Flows::Flows(const Machine &machine)
    : in(machine.devices()), out(machine.devices()),
      loads(sharedLoads(machine)), sources(machine.devices()) {}

void Timing::Flows::add(int64_t from, int64_t to, double bytes) {
  if (from == to || bytes == 0)
    return;
  in[to] += bytes;
  out[from] += bytes;
  sources[to] |= DeviceSet(1) << from;
  for (SharedLoad &load : loads)
    load.add(from, to, bytes);
}

void Timing::Flows::clear() {
  std::fill(in.begin(), in.end(), 0.0);
  std::fill(out.begin(), out.end(), 0.0);
  for (SharedLoad &load : loads)
    load.clear();
  std::fill(sources.begin(), sources.end(), 0);
}

/// A device waits for its own link, for those of its sources, and for what
/// crosses the links that they share with others.
void Timing::finish(const Flows &flows, Exchange &result) const {
  const Machine &machine = setting.machine;
  result.arrivals.clear();
  for (int64_t to = 0; to < machine.devices(); ++to) {
    if (!flows.sources[to])
      continue;
    double link = flows.in[to];
    for (DeviceSet rest = flows.sources[to]; rest; rest &= rest - 1)
      link = std::max(link, flows.out[std::countr_zero(rest)]);
    double seconds = machine.link.latency + link / machine.link.bandwidth;
    for (const SharedLoad &load : flows.loads) {
      int64_t target = load.groupOf(to);
      double crossing = 0;
      for (DeviceSet rest = flows.sources[to]; rest; rest &= rest - 1)
        if (int64_t source = load.groupOf(std::countr_zero(rest));
            source != target)
          crossing = std::max({crossing, load.out[source], load.in[target]});
      seconds = std::max(seconds, load.seconds(crossing));
    }
    result.arrivals.push_back({static_cast<int>(to), flows.sources[to],
                               ticks(seconds),
                               static_cast<int64_t>(flows.in[to])});
  }
}

Timing::Timing(const Setting &setting)
    : setting(setting), mostRemembered((1 << 20) / setting.machine.devices()),
      scratch(setting.machine) {
  assert(setting.machine.devices() <= mostDevices && "the driver's limit");
  std::map<std::string, int> known;
  for (const LayerGraph::Layer &layer : setting.graph.layers)
    kinds.push_back(
        known.try_emplace(layer.signature, known.size()).first->second);
}

Ticks Timing::ticks(double seconds) const {
  return std::llround(seconds * ticksPerSecond);
}

/// Seven bits in a byte, the others behind it.
static void append(int64_t number, std::string &key) {
  for (; number >> 7; number >>= 7)
    key.push_back(static_cast<char>(number | 1 << 7));
  key.push_back(static_cast<char>(number));
}

/// Degrees and sizes of a tiling, as a key.
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

/// As the shard pass does it (../shard/Updates.cpp): each device that holds a
/// region owns a part of its update, or all of it where that is little.
void Timing::synchronize(const LayerTiles::Regions &regions,
                         const std::vector<int64_t> &devices, TimedLayer &timed,
                         Flows &reduce, Flows &gather) const {
  for (const auto &[region, group] : holdersOf(regions, devices)) {
    double bytes = 4 * shard::volume(region);
    auto copies = static_cast<double>(group.size());
    bool allReduced =
        shard::isAllReduced(static_cast<int64_t>(bytes), group.size());
    double owned = allReduced ? bytes : bytes / copies;
    for (int64_t to : group) {
      // Value and momentum are read and written, gradients are read.
      Work work;
      work.bytes = owned * (4 + copies);
      work.key = "sgd";
      Ticks time = ticks(setting.costs.seconds(work));
      timed[group.size() > 1 ? TimedLayer::update : TimedLayer::ownUpdate]
           [to] += time;
      timed[TimedLayer::memory][to] += static_cast<int64_t>(2 * bytes + owned);
      for (int64_t from : group) {
        reduce.add(from, to, owned);
        if (!allReduced)
          gather.add(from, to, owned);
      }
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
      (*timed)[static_cast<TimedLayer::Row>(kernel.stage)][device] +=
          ticks(setting.costs.seconds(kernel));
  for (auto [tensor, regions] : llvm::zip_equal(described.made, cut.made)) {
    timed->made.emplace_back(regions, devices, overlaps);
    const Tensor &made = setting.graph.tensors[tensor];
    for (auto [region, device] : llvm::zip_equal(regions, devices))
      if (region && made.made == Stage::forward)
        (*timed)[TimedLayer::memory][device] += static_cast<int64_t>(
            shard::volume(*region) * static_cast<double>(made.elementBytes));
  }
  for (const LayerTiles::Regions &regions : cut.read)
    timed->read.emplace_back(regions, devices, overlaps);
  Flows reduce(setting.machine), gather(setting.machine);
  for (const LayerTiles::Regions &regions : cut.params)
    synchronize(regions, devices, *timed, reduce, gather);
  finish(reduce, timed->reduce);
  finish(gather, timed->gather);
  known = std::move(timed);
  return known;
}

std::shared_ptr<const Exchange> Timing::exchange(const RegionSet &made,
                                                 const RegionSet &read,
                                                 int64_t elementBytes) {
  if (RegionSet::isThere(made, read))
    return nullptr;
  if (exchanges.size() > mostRemembered)
    exchanges.clear();
  auto [known, isNew] =
      exchanges.try_emplace(static_cast<uint64_t>(made.number()) << 34 |
                            static_cast<uint64_t>(read.number()) << 4 |
                            static_cast<uint64_t>(elementBytes));
  if (!isNew)
    return known->second;
  scratch.clear();
  RegionSet::forEachPair(
      made, read, overlaps, [&](int64_t from, int64_t to, double volume) {
        scratch.add(from, to, volume * static_cast<double>(elementBytes));
      });
  auto result = std::make_shared<Exchange>();
  finish(scratch, *result);
  if (!result->arrivals.empty())
    known->second = std::move(result);
  return known->second;
}

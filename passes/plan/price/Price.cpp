//===- Price.cpp - What a plan costs by OptCNN's sum ----------------------===//

#include "passes/plan/price/Price.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace lwcc;
using namespace lwcc::plan;

Seconds &Seconds::operator+=(const Seconds &other) {
  compute += other.compute;
  transfer += other.transfer;
  sync += other.sync;
  bytes += other.bytes;
  return *this;
}

//===----------------------------------------------------------------------===//
// Layers and edges
//===----------------------------------------------------------------------===//

Pricer::Pricer(const LayerGraph &graph, const Machine &machine,
               const CostModel &costs)
    : graph(graph), machine(machine), costs(costs), traffic(machine) {
  for (const Tensor &tensor : graph.tensors)
    tensorBytes.push_back(static_cast<double>(tensor.elementBytes) *
                          tiling::volume(tiling::wholeOf(tensor.shape)));
}

PlacedLayer Pricer::place(int layer, const Tiling &tiling) {
  LayerTiles tiles = graph.tiles(layer, tiling);
  PlacedLayer placed;
  for (const Place &place : tiling.places)
    placed.devices.push_back(machine.deviceOf(place));
  auto setsOf = [&](const std::vector<int> &tensors,
                    const std::vector<LayerTiles::Regions> &tiles) {
    std::vector<const RegionSet *> result;
    for (auto [tensor, regions] : llvm::zip_equal(tensors, tiles)) {
      RegionSet set(regions, placed.devices, overlaps,
                    graph.tensors[tensor].shape);
      const size_t number = set.number();
      if (number >= sets.size())
        sets.resize(number + 1);
      if (!sets[number]) {
        sets[number] = std::make_unique<RegionSet>(std::move(set));
        sets[number]->findGroups(machine);
      }
      result.push_back(sets[number].get());
    }
    return result;
  };
  placed.made = setsOf(graph.layers[layer].made, tiles.made);
  placed.read = setsOf(graph.layers[layer].read, tiles.read);
  placed.work = std::move(tiles.work);
  placed.params = std::move(tiles.params);
  return placed;
}

static size_t indexIn(const std::vector<int> &list, int entry) {
  return llvm::find(list, entry) - list.begin();
}

const Pricer::Exchanged &Pricer::exchange(const RegionSet &made,
                                          const RegionSet &read) {
  static constexpr Exchanged nothing = {};
  if (RegionSet::isThere(made, read))
    return nothing;
  int from = made.number(), to = read.number();
  if (made.isGrid() && read.isGrid() && from > to)
    std::swap(from, to);
  if (static_cast<size_t>(from) >= exchanged.size())
    exchanged.resize(from + 1);
  auto [known, isNew] = exchanged[from].try_emplace(to);
  if (isNew) {
    traffic.clear();
    RegionSet::exchange(made, read, /*elementBytes=*/1, overlaps, traffic);
    answers.push_back({traffic.busiest(), traffic.bytes(),
                       RegionSet::units(made, read, overlaps)});
    known->second = &answers.back();
  }
  return *known->second;
}

void Pricer::addExchange(int tensor, const RegionSet &made,
                         const RegionSet &read, Seconds &result) {
  const Exchanged &exchanged = exchange(made, read);
  result.transfer += seconds(tensor, exchanged);
  result.bytes += exchanged.moved * (tensorBytes[tensor] / exchanged.units);
}

/// Adds what devices exchange to keep the copies of a parameter equal. Other
/// than in programs, it is a reduce-scatter and an all-gather for small ones,
/// too: the sum has no latencies that an all-reduce would save.
void Pricer::synchronize(const Parameter &parameter,
                         const LayerTiles::Regions &regions,
                         const std::vector<int64_t> &devices) {
  for (ParameterCopies &copies : parameterCopies(parameter, regions, devices)) {
    auto [known, isNew] = synchronized.try_emplace(
        {copies.devices, levelsOf(copies, machine)}, machine);
    copies.update = {/*allReduced=*/false, /*owned=*/1};
    if (isNew)
      for (const SyncHop &hop : hopsOf(copies, machine))
        known->second.add(hop.from, hop.to, hop.bytes);
    traffic.add(known->second,
                copies.bytes / static_cast<double>(copies.devices.size()));
  }
}

Seconds Pricer::layer(int layer, const PlacedLayer &placed) {
  const LayerGraph::Layer &known = graph.layers[layer];
  Seconds result;
  std::vector<double> busy(machine.devices(), 0);
  for (auto [work, device] : llvm::zip_equal(placed.work, placed.devices))
    for (const Work &kernel : work)
      busy[device] += costs.seconds(kernel);
  result.compute = *llvm::max_element(busy);
  for (auto [i, tensor] : llvm::enumerate(known.made))
    if (llvm::is_contained(graph.tensors[tensor].consumers, layer))
      addExchange(tensor, *placed.made[i],
                  *placed.read[indexIn(known.read, tensor)], result);
  traffic.clear();
  for (auto [parameter, regions] : llvm::zip_equal(known.params, placed.params))
    synchronize(parameter, regions, placed.devices);
  result.sync = traffic.seconds();
  result.bytes += traffic.bytes();
  return result;
}

Seconds Pricer::edge(const Edge &edge, const PlacedLayer &from,
                     const PlacedLayer &to) {
  Seconds result;
  for (const Edge::Port &port : edge.ports) {
    const PlacedLayer &maker = port.forward ? from : to;
    const PlacedLayer &reader = port.forward ? to : from;
    addExchange(port.tensor, *maker.made[port.made], *reader.read[port.read],
                result);
  }
  return result;
}

std::string Edge::signature() const {
  std::string text;
  for (const Port &port : ports)
    text += (port.forward ? " " : " -") + std::to_string(port.made) + ":" +
            std::to_string(port.read);
  return text;
}

std::vector<Edge> plan::edgesOf(const LayerGraph &graph) {
  std::map<std::pair<int, int>, std::vector<Edge::Port>> edges;
  for (auto [number, tensor] : llvm::enumerate(graph.tensors))
    for (int consumer : tensor.consumers) {
      if (consumer == tensor.producer)
        continue;
      int tensorNumber = static_cast<int>(number);
      edges[std::minmax(tensor.producer, consumer)].push_back(
          {tensorNumber, tensor.producer < consumer,
           indexIn(graph.layers[tensor.producer].made, tensorNumber),
           indexIn(graph.layers[consumer].read, tensorNumber)});
    }
  std::vector<Edge> result;
  for (auto &[layers, ports] : edges)
    result.push_back({layers.first, layers.second, std::move(ports)});
  return result;
}

std::vector<Seconds> plan::priceOf(const LayerGraph &graph,
                                   const Tilings &tilings,
                                   const Machine &machine,
                                   const CostModel &costs) {
  Pricer pricer(graph, machine, costs);
  std::vector<PlacedLayer> placed;
  std::vector<Seconds> seconds;
  for (int i = 0; i < static_cast<int>(graph.layers.size()); ++i) {
    placed.push_back(pricer.place(i, tilings[i]));
    seconds.push_back(pricer.layer(i, placed[i]));
  }
  for (const Edge &edge : edgesOf(graph))
    seconds[edge.to] += pricer.edge(edge, placed[edge.from], placed[edge.to]);
  return seconds;
}

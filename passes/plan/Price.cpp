//===- Price.cpp - What a plan costs by OptCNN's sum ----------------------===//

#include "passes/plan/Price.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <map>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;
using shard::Box;

Seconds &Seconds::operator+=(const Seconds &other) {
  compute += other.compute;
  transfer += other.transfer;
  sync += other.sync;
  bytes += other.bytes;
  return *this;
}

static double volume(const Box &box) {
  double product = 1;
  for (const shard::Interval &axis : box)
    product *= static_cast<double>(axis.size());
  return product;
}

//===----------------------------------------------------------------------===//
// Layers and edges
//===----------------------------------------------------------------------===//

PlacedLayer Pricer::place(int layer, const Tiling &tiling) {
  LayerTiles tiles = graph.tiles(layer, tiling);
  PlacedLayer placed;
  for (const Place &place : tiling.places)
    placed.devices.push_back(machine.deviceOf(place));
  for (const LayerTiles::Regions &regions : tiles.made)
    placed.made.emplace_back(regions, placed.devices, overlaps);
  for (const LayerTiles::Regions &regions : tiles.read)
    placed.read.emplace_back(regions, placed.devices, overlaps);
  placed.work = std::move(tiles.work);
  placed.params = std::move(tiles.params);
  return placed;
}

static size_t indexIn(const std::vector<int> &list, int entry) {
  return llvm::find(list, entry) - list.begin();
}

void Pricer::exchange(int tensor, const RegionSet &made, const RegionSet &read,
                      Seconds &result) {
  traffic.clear();
  RegionSet::exchange(made, read,
                      static_cast<double>(graph.tensors[tensor].elementBytes),
                      machine, overlaps, traffic);
  result.transfer += traffic.seconds();
  result.bytes += traffic.bytes();
}

/// Parameters that several devices hold: each owns a part of the update. It
/// receives the others' gradients of its part and sends them its new values.
static void synchronize(const LayerTiles::Regions &regions,
                        const std::vector<int64_t> &devices, Traffic &traffic) {
  std::map<Box, std::set<int64_t>> holders;
  for (auto [region, device] : llvm::zip_equal(regions, devices))
    if (region)
      holders[*region].insert(device);
  for (const auto &[region, group] : holders)
    for (int64_t from : group)
      for (int64_t to : group)
        traffic.add(from, to, 2 * 4 * volume(region) / group.size());
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
      exchange(tensor, placed.made[i], placed.read[indexIn(known.read, tensor)],
               result);
  traffic.clear();
  for (const LayerTiles::Regions &regions : placed.params)
    synchronize(regions, placed.devices, traffic);
  result.sync = traffic.seconds();
  result.bytes += traffic.bytes();
  return result;
}

Seconds Pricer::edge(int from, const PlacedLayer &made, int to,
                     const PlacedLayer &read) {
  Seconds result;
  auto oneWay = [&](int a, const PlacedLayer &maker, int b,
                    const PlacedLayer &reader) {
    for (auto [i, tensor] : llvm::enumerate(graph.layers[a].made))
      if (llvm::is_contained(graph.tensors[tensor].consumers, b))
        exchange(tensor, maker.made[i],
                 reader.read[indexIn(graph.layers[b].read, tensor)], result);
  };
  oneWay(from, made, to, read);
  oneWay(to, read, from, made);
  return result;
}

std::vector<std::pair<int, int>> plan::edgesOf(const LayerGraph &graph) {
  std::set<std::pair<int, int>> edges;
  for (const Tensor &tensor : graph.tensors)
    for (int consumer : tensor.consumers)
      if (consumer != tensor.producer)
        edges.insert(std::minmax(tensor.producer, consumer));
  return {edges.begin(), edges.end()};
}

std::string plan::portsOf(const LayerGraph &graph, int from, int to) {
  std::string text;
  auto ports = [&](int a, int b) {
    for (auto [i, tensor] : llvm::enumerate(graph.layers[a].made))
      if (llvm::is_contained(graph.tensors[tensor].consumers, b))
        text += " " + std::to_string(i) + ":" +
                std::to_string(indexIn(graph.layers[b].read, tensor));
  };
  ports(from, to);
  text += ";";
  ports(to, from);
  return text;
}

std::vector<Seconds> plan::priceOf(const LayerGraph &graph, const Plan &plan,
                                   const Machine &machine,
                                   const CostModel &costs) {
  llvm::StringMap<const Tiling *> tilings;
  for (const LayerPlan &layer : plan.layers)
    tilings[layer.layer] = &layer.tiling;
  Pricer pricer(graph, machine, costs);
  std::vector<PlacedLayer> placed;
  std::vector<Seconds> seconds;
  for (int i = 0; i < static_cast<int>(graph.layers.size()); ++i) {
    placed.push_back(pricer.place(i, *tilings[graph.layers[i].name]));
    seconds.push_back(pricer.layer(i, placed[i]));
  }
  for (auto [a, b] : edgesOf(graph))
    seconds[b] += pricer.edge(a, placed[a], b, placed[b]);
  return seconds;
}

//===- Blocks.cpp - A model as a hypergraph of blocks of filters ----------===//

#include "passes/plan/solve/Blocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

/// How much more than its share of the work a device may have.
static constexpr double imbalance = 0.03;

Blocks::Blocks(const Problem &given) : problem(given) {
  findUnits();
  const LayerGraph &layers = problem.graph;
  std::vector<double> work(units.size(), 0);
  std::vector<int64_t> bytes(units.size(), 0);
  for (auto [u, unit] : llvm::enumerate(units))
    for (int layer : unit.layers) {
      LayerTiles tiles = layers.tiles(layer, Tiling());
      for (const Work &call : tiles.work[0])
        work[u] += call.flops;
      for (auto [p, regions] : llvm::enumerate(tiles.params)) {
        const Parameter &parameter = layers.layers[layer].params[p];
        if (regions[0])
          bytes[u] += static_cast<int64_t>(tiling::volume(*regions[0])) *
                      (2 * parameter.elementBytes + parameter.stateBytes);
      }
      for (auto [t, regions] : llvm::enumerate(tiles.made)) {
        const Tensor &tensor = layers.tensors[layers.layers[layer].made[t]];
        if (regions[0] && tensor.made == Phase::forward)
          bytes[u] += static_cast<int64_t>(tiling::volume(*regions[0])) *
                      tensor.elementBytes;
      }
    }
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  for (auto [u, unit] : llvm::enumerate(units)) {
    divide(unit, work[u], total);
    unit.first = static_cast<int>(graph.graph.weights.size());
    const int64_t channels =
        std::accumulate(unit.sizes.begin(), unit.sizes.end(), int64_t(0));
    for (int64_t size : unit.sizes) {
      double share = static_cast<double>(size) / static_cast<double>(channels);
      graph.graph.weights.push_back(std::llround(work[u] * share));
      graph.graph.sizes.push_back(
          std::llround(static_cast<double>(bytes[u]) * share));
    }
  }
  graph.parts = static_cast<int>(problem.machine.devices());
  graph.mostWeight = std::llround(total / graph.parts * (1 + imbalance));
  if (problem.machine.device.memory > 0)
    graph.mostSize = problem.machine.device.memory;
  addNets();
}

/// A layer goes with the unit before it if it computes no products and its
/// channels are those of the unit.
void Blocks::findUnits() {
  const LayerGraph &layers = problem.graph;
  for (auto [i, layer] : llvm::enumerate(layers.layers)) {
    bool products = false;
    const LayerTiles whole = layers.tiles(static_cast<int>(i), Tiling());
    for (const Work &call : whole.work[0])
      products |= call.flops > 0;
    int before = layer.leader >= 0 ? layer.leader : layer.producer;
    // Pooling and the like, which LayerGraph does not count as followers.
    bool goesOver = layer.leader >= 0 ||
                    (before >= 0 && layer.rank == 4 && !layer.hasParameters &&
                     layer.extents[alongChannels] ==
                         layers.layers[before].extents[alongChannels]);
    if (before >= 0 && !products && goesOver) {
      unitOf.push_back(unitOf[before]);
    } else {
      unitOf.push_back(static_cast<int>(units.size()));
      units.emplace_back();
    }
    units[unitOf.back()].layers.push_back(static_cast<int>(i));
  }
}

/// Into blocks small enough to balance devices by them. What computes no
/// products may need sums over its channels, such as a loss: it stays whole.
void Blocks::divide(Unit &unit, double work, double total) {
  constexpr double ofDevice = 24; // blocks that a device's share is made of
  constexpr int64_t most = 64;
  const LayerGraph::Layer &leader = problem.graph.layers[unit.layers[0]];
  const int64_t channels = leader.extents[alongChannels];
  double wanted =
      total > 0
          ? std::ceil(work * ofDevice *
                      static_cast<double>(problem.machine.devices()) / total)
          : 1;
  int64_t blocks =
      std::clamp<int64_t>(static_cast<int64_t>(wanted), 1,
                          std::min(most, std::max<int64_t>(1, channels)));
  for (int64_t i = 0; i < blocks; ++i)
    unit.sizes.push_back(tiling::partOf(channels, blocks, i).size());
}

Tiling Blocks::cut(const Unit &unit, int layer,
                   const std::vector<int64_t> &channels) const {
  const LayerGraph::Layer &leader = problem.graph.layers[unit.layers[0]];
  const int64_t extent = problem.graph.layers[layer].extents[alongChannels],
                ofLeader = leader.extents[alongChannels];
  Tiling tiling;
  const auto parts = static_cast<int64_t>(channels.size());
  // Features of a channel of images stay together.
  if (parts > 1 && extent >= parts) {
    tiling.degrees[alongChannels] = parts;
    if (extent % ofLeader == 0)
      for (int64_t size : channels)
        tiling.sizes[alongChannels].push_back(size * (extent / ofLeader));
  }
  tiling.places.assign(tiling.tiles(), problem.machine.place(0));
  return tiling;
}

/// The parts of a tensor that have the same makers and readers.
namespace {
struct Cell {
  tiling::Box box;
  std::vector<int> pins;
};
} // namespace

/// Parts each cell into what lies in the box, where the vertex is a pin, and
/// the rest.
static void addPin(std::vector<Cell> &cells, const tiling::Box &box, int pin) {
  std::vector<Cell> parted;
  for (Cell &cell : cells) {
    if (!tiling::overlap(cell.box, box)) {
      parted.push_back(std::move(cell));
      continue;
    }
    for (tiling::Box &rest : tiling::subtract(cell.box, box))
      parted.push_back({std::move(rest), cell.pins});
    Cell inside{tiling::intersect(cell.box, box), std::move(cell.pins)};
    if (!llvm::is_contained(inside.pins, pin))
      inside.pins.push_back(pin);
    parted.push_back(std::move(inside));
  }
  cells = std::move(parted);
}

void Blocks::addNets() {
  const LayerGraph &layers = problem.graph;
  std::vector<LayerTiles> tiles;
  for (auto [i, layer] : llvm::enumerate(layers.layers)) {
    const Unit &unit = units[unitOf[i]];
    tiles.push_back(
        layers.tiles(i, cut(unit, static_cast<int>(i), unit.sizes)));
  }
  for (auto [t, tensor] : llvm::enumerate(layers.tensors)) {
    if (tensor.made != Phase::forward || tensor.producer < 0)
      continue;
    const int number = static_cast<int>(t);
    const LayerTiles::Regions *made =
        regionsOf(number, layers.layers[tensor.producer].made,
                  tiles[tensor.producer].made);
    if (!made)
      continue;
    std::vector<Cell> cells;
    const int maker = units[unitOf[tensor.producer]].first;
    for (auto [i, box] : llvm::enumerate(*made))
      if (box && !tiling::empty(*box))
        cells.push_back({*box, {maker + static_cast<int>(i)}});
    for (int consumer : tensor.consumers) {
      const LayerTiles::Regions *read =
          regionsOf(number, layers.layers[consumer].read, tiles[consumer].read);
      const int reader = units[unitOf[consumer]].first;
      for (size_t i = 0; read && i < read->size(); ++i)
        if ((*read)[i] && !tiling::empty(*(*read)[i]))
          addPin(cells, *(*read)[i], reader + static_cast<int>(i));
    }
    for (Cell &cell : cells)
      graph.graph.nets.push_back(
          {static_cast<int64_t>(tiling::volume(cell.box)) * tensor.elementBytes,
           std::move(cell.pins)});
  }
  graph.graph = graph.graph.reduced();
}

Partition Blocks::inOrder(const Partition &partition) const {
  // Parts by where in the model their work is, on average.
  std::vector<double> where(graph.parts, 0), weight(graph.parts, 1e-9);
  for (auto [v, part] : llvm::enumerate(partition)) {
    double each = 1 + static_cast<double>(graph.graph.weights[v]);
    where[part] += each * static_cast<double>(v);
    weight[part] += each;
  }
  std::vector<int> order(graph.parts), rank(graph.parts);
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int a, int b) {
    return where[a] / weight[a] < where[b] / weight[b];
  });
  for (auto [i, part] : llvm::enumerate(order))
    rank[part] = static_cast<int>(i);
  Partition ranked;
  for (int part : partition)
    ranked.push_back(rank[part]);
  Partition sorted = ranked;
  for (const Unit &unit : units)
    std::sort(sorted.begin() + unit.first,
              sorted.begin() + unit.first +
                  static_cast<std::ptrdiff_t>(unit.sizes.size()));
  auto value = [&](const Partition &each) {
    return std::pair(overload(graph, each), km1(graph.graph, each));
  };
  return value(sorted) <= value(ranked) ? sorted : ranked;
}

Tilings Blocks::tilings(const Partition &partition,
                        int64_t microBatches) const {
  Tilings tilings;
  for (auto [i, layer] : llvm::enumerate(problem.graph.layers)) {
    const Unit &unit = units[unitOf[i]];
    std::vector<int64_t> channels;
    std::vector<Place> places;
    int before = -1;
    for (auto [block, size] : llvm::enumerate(unit.sizes)) {
      int part = partition[unit.first + block];
      if (part == before) {
        channels.back() += size;
        continue;
      }
      channels.push_back(size);
      places.push_back(problem.machine.place(part));
      before = part;
    }
    Tiling tiling = cut(unit, static_cast<int>(i), channels);
    places.resize(tiling.tiles());
    if (samplesOf(layer) >= microBatches) {
      tiling.degrees[alongSamples] = microBatches;
      tiling.sizes[alongSamples] =
          sizesOfSamples(problem.graph, layer, microBatches);
    }
    tiling.places.clear();
    for (int64_t batch = 0; batch < tiling.degrees[alongSamples]; ++batch)
      tiling.places.insert(tiling.places.end(), places.begin(), places.end());
    tilings.push_back(std::move(tiling));
  }
  return tilings;
}

std::string Blocks::toHmetis(const PartitionSolution &solution) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  const Hypergraph &nets = graph.graph;
  os << "% parts " << graph.parts << " most " << graph.mostWeight << " km1 "
     << solution.km1 << " overload " << solution.overload << " exact "
     << solution.exact << "\n"
     << nets.nets.size() << " " << nets.weights.size() << " 11\n";
  for (const Hypergraph::Net &net : nets.nets) {
    os << net.cost;
    for (int pin : net.pins)
      os << " " << pin + 1;
    os << "\n";
  }
  for (int64_t weight : nets.weights)
    os << weight << "\n";
  return text;
}

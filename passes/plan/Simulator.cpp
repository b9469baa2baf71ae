//===- Simulator.cpp - How long a step takes under a plan -----------------===//

#include "passes/plan/Simulator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <bit>
#include <utility>

using namespace lwcc::plan;

Tilings lwcc::plan::tilingsOf(const LayerGraph &graph, const Plan &plan) {
  llvm::StringMap<const Tiling *> named;
  for (const LayerPlan &layer : plan.layers)
    named[layer.layer] = &layer.tiling;
  Tilings tilings;
  for (const LayerGraph::Layer &layer : graph.layers)
    tilings.push_back(*named.at(layer.name));
  return tilings;
}

Plan lwcc::plan::planOf(const Problem &problem, const Tilings &tilings,
                        llvm::StringRef strategy) {
  Plan plan = planFor(problem, strategy);
  plan.costs = problem.costs.source();
  for (auto [layer, tiling] : llvm::zip_equal(problem.graph.layers, tilings))
    plan.layers.push_back({layer.name, tiling});
  return plan;
}

//===----------------------------------------------------------------------===//
// The order of a step
//===----------------------------------------------------------------------===//

Simulator::Simulator(const Problem &problem)
    : problem(problem), devices(static_cast<int>(problem.machine.devices())),
      timing(std::make_unique<Timing>(problem)) {
  findPositions();
  findPorts();
  size_t width = 3 * devices, count = positions.size() + 1;
  storage.assign(2 * width * count, 0);
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(&storage[i * width]);
    triedRows.push_back(&storage[(count + i) * width]);
  }
}

void Simulator::findPositions() {
  const LayerGraph &graph = problem.graph;
  int count = static_cast<int>(graph.layers.size());
  std::vector<std::array<bool, 3>> has(count);
  for (int i = 0; i < count; ++i) {
    std::shared_ptr<const TimedLayer> whole = timing->layer(i, Tiling());
    for (size_t s = 0; s < 3; ++s)
      has[i][s] = llvm::any_of(whole->busy[s], [](Ticks t) { return t > 0; });
    has[i][2] |= graph.layers[i].hasParameters;
  }
  for (const Tensor &tensor : graph.tensors) {
    has[tensor.producer][static_cast<int>(tensor.made)] = true;
    for (auto [consumer, stage] :
         llvm::zip_equal(tensor.consumers, tensor.needed))
      has[consumer][static_cast<int>(stage)] = true;
  }
  auto add = [&](int layer, Stage stage) {
    if (has[layer][static_cast<int>(stage)])
      positions.push_back({layer, stage, {}, {}});
  };
  for (int i = 0; i < count; ++i)
    add(i, Stage::forward);
  for (int i = count; i-- > 0;) {
    add(i, Stage::backward);
    add(i, Stage::weightGradient);
  }
}

void Simulator::findPorts() {
  const LayerGraph &graph = problem.graph;
  std::vector<std::array<int, 3>> at(graph.layers.size());
  for (auto [i, position] : llvm::enumerate(positions))
    at[position.layer][static_cast<int>(position.stage)] = static_cast<int>(i);
  portsOf.resize(graph.layers.size());
  auto indexIn = [](const std::vector<int> &list, int entry) {
    return static_cast<size_t>(llvm::find(list, entry) - list.begin());
  };
  for (auto [number, tensor] : llvm::enumerate(graph.tensors))
    for (auto [consumer, stage] :
         llvm::zip_equal(tensor.consumers, tensor.needed)) {
      int id = static_cast<int>(number), port = static_cast<int>(ports.size());
      int from = at[tensor.producer][static_cast<int>(tensor.made)];
      int to = at[consumer][static_cast<int>(stage)];
      ports.push_back({id, tensor.producer, consumer,
                       indexIn(graph.layers[tensor.producer].made, id),
                       indexIn(graph.layers[consumer].read, id), from, to});
      // What a layer sums over its own tiles, or reads of a layer whose turn
      // comes no earlier.
      (from < to ? positions[to].fetched : positions[to].regrouped)
          .push_back(port);
      portsOf[tensor.producer].push_back(port);
      if (consumer != tensor.producer)
        portsOf[consumer].push_back(port);
    }
}

//===----------------------------------------------------------------------===//
// A walk
//===----------------------------------------------------------------------===//

/// After so many positions.
Simulator::Row Simulator::rowAt(int position) const {
  Ticks *row = position < firstTried ? rows[position] : triedRows[position];
  return {row, row + devices, row + 2 * devices};
}

/// Devices receive what others have `ready`, and wait for it.
void Simulator::receive(const Exchange &exchange, const Ticks *ready,
                        Row row) const {
  for (const Arrival &arrival : exchange.arrivals) {
    int to = arrival.device;
    Ticks start = row.transfer[to];
    for (DeviceSet rest = arrival.sources; rest; rest &= rest - 1)
      start = std::max(start, ready[std::countr_zero(rest)]);
    Ticks end = start + arrival.duration;
    row.transfer[to] = end;
    if (Ticks beside = std::min(end, row.compute[to]) - start; beside > 0)
      row.lost[to] += timing->slowdown(beside);
    row.compute[to] = std::max(row.compute[to], end);
  }
}

/// Gradients go to the owners of parameters, which update them, and the new
/// values go back, while the device computes on.
void Simulator::update(const TimedLayer &layer, Row row) const {
  for (int d = 0; d < devices; ++d)
    row.compute[d] += layer.ownUpdate[d];
  auto exchange = [&](const Exchange &exchange, const Ticks *ready,
                      const std::vector<Ticks> *after) {
    for (const Arrival &arrival : exchange.arrivals) {
      int to = arrival.device;
      Ticks start = row.transfer[to];
      for (DeviceSet rest = arrival.sources | DeviceSet(1) << to; rest;
           rest &= rest - 1)
        start = std::max(start, ready[std::countr_zero(rest)]);
      Ticks duration = arrival.duration + (after ? (*after)[to] : 0);
      row.transfer[to] = start + duration;
      row.lost[to] += timing->slowdown(duration);
    }
  };
  exchange(layer.reduce, row.compute, &layer.update);
  std::array<Ticks, mostDevices> updated;
  std::copy_n(row.transfer, devices, updated.begin());
  exchange(layer.gather, updated.data(), nullptr);
}

/// From the row before position `first` to the end.
void Simulator::walk(int first) {
  firstTried = first + 1;
  for (int i = first; i < static_cast<int>(positions.size()); ++i) {
    const Position &position = positions[i];
    Row row = rowAt(i + 1);
    std::copy_n(rowAt(i).compute, 3 * devices, row.compute);
    for (int port : position.fetched)
      if (!exchanges[port]->arrivals.empty())
        receive(*exchanges[port], rowAt(ports[port].from + 1).compute, row);
    const TimedLayer &layer = *layers[position.layer];
    const std::vector<Ticks> &busy =
        layer.busy[static_cast<int>(position.stage)];
    for (int d = 0; d < devices; ++d)
      if (busy[d] > 0)
        row.compute[d] += busy[d] + std::exchange(row.lost[d], 0);
    std::array<Ticks, mostDevices> ready;
    if (!position.regrouped.empty())
      std::copy_n(row.compute, devices, ready.begin());
    for (int port : position.regrouped)
      if (!exchanges[port]->arrivals.empty())
        receive(*exchanges[port], ready.data(), row);
    if (position.stage == Stage::weightGradient)
      update(layer, row);
  }
  Row last = rowAt(static_cast<int>(positions.size()));
  triedResult = *std::max_element(last.compute, last.compute + 2 * devices);
}

//===----------------------------------------------------------------------===//
// Full and delta mode
//===----------------------------------------------------------------------===//

std::shared_ptr<const Exchange> Simulator::exchangeOf(const Port &port) const {
  return timing->exchange(layers[port.maker]->made[port.made],
                          layers[port.reader]->read[port.read],
                          problem.graph.tensors[port.tensor].elementBytes);
}

void Simulator::addMemory(const TimedLayer &layer, std::vector<int64_t> &sum,
                          int sign) {
  for (auto [total, bytes] : llvm::zip_equal(sum, layer.memory))
    total += sign * bytes;
}

/// Copies of what the forward pass made elsewhere.
void Simulator::addMemory(int port, const Exchange &exchange,
                          std::vector<int64_t> &sum, int sign) const {
  if (problem.graph.tensors[ports[port].tensor].made != Stage::forward)
    return;
  for (const Arrival &arrival : exchange.arrivals)
    sum[arrival.device] += sign * arrival.bytes;
}

Ticks Simulator::simulate(const Tilings &tilings) {
  timing = std::make_unique<Timing>(problem);
  held = tilings;
  layers.clear();
  exchanges.clear();
  tried.clear();
  memoryUse.assign(devices, 0);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    layers.push_back(timing->layer(static_cast<int>(i), tiling));
    addMemory(*layers.back(), memoryUse, 1);
  }
  for (auto [i, port] : llvm::enumerate(ports)) {
    exchanges.push_back(exchangeOf(port));
    addMemory(static_cast<int>(i), *exchanges.back(), memoryUse, 1);
  }
  walk(0);
  rows.swap(triedRows);
  result = triedResult;
  return result;
}

Ticks Simulator::propose(llvm::ArrayRef<Change> changes) {
  tried.assign(changes.begin(), changes.end());
  triedLayers.clear();
  triedExchanges.clear();
  triedMemory = memoryUse;
  for (const Change &change : changes) {
    addMemory(*layers[change.layer], triedMemory, -1);
    triedLayers.push_back(std::exchange(
        layers[change.layer], timing->layer(change.layer, change.tiling)));
    addMemory(*layers[change.layer], triedMemory, 1);
  }
  int first = static_cast<int>(positions.size());
  std::vector<int> moved;
  for (const Change &change : changes)
    llvm::append_range(moved, portsOf[change.layer]);
  llvm::sort(moved);
  moved.erase(llvm::unique(moved), moved.end());
  for (int port : moved) {
    std::shared_ptr<const Exchange> exchange = exchangeOf(ports[port]);
    addMemory(port, *exchanges[port], triedMemory, -1);
    addMemory(port, *exchange, triedMemory, 1);
    first = std::min(first, ports[port].to);
    triedExchanges.push_back(
        {port, std::exchange(exchanges[port], std::move(exchange))});
  }
  for (int i = 0; i < first; ++i)
    if (llvm::any_of(changes, [&](const Change &change) {
          return change.layer == positions[i].layer;
        }))
      first = i;
  walk(first);
  // The tables hold what holds; tried* keeps the proposal's.
  for (auto [change, layer] : llvm::zip_equal(changes, triedLayers))
    std::swap(layers[change.layer], layer);
  for (auto &[port, exchange] : triedExchanges)
    std::swap(exchanges[port], exchange);
  return triedResult;
}

void Simulator::accept() {
  for (auto [change, layer] : llvm::zip_equal(tried, triedLayers)) {
    std::swap(layers[change.layer], layer);
    held[change.layer] = change.tiling;
  }
  for (auto &[port, exchange] : triedExchanges)
    std::swap(exchanges[port], exchange);
  for (size_t i = firstTried; i < rows.size(); ++i)
    std::swap(rows[i], triedRows[i]);
  tried.clear();
  triedLayers.clear();
  triedExchanges.clear();
  memoryUse = triedMemory;
  result = triedResult;
}

int64_t Simulator::bytes() const {
  int64_t sum = 0;
  for (const auto &exchange : exchanges)
    sum += exchange->bytes();
  for (const auto &layer : layers)
    sum += layer->reduce.bytes() + layer->gather.bytes();
  return sum;
}

int64_t Simulator::memory() const { return *llvm::max_element(memoryUse); }

int64_t Simulator::proposedMemory() const {
  return *llvm::max_element(triedMemory);
}

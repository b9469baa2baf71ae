//===- Simulator.cpp - How long a step takes under a plan -----------------===//
//
// Full and delta mode: which tasks and exchanges hold, which of them a proposal
// changes, and what becomes of the rows when it is accepted. How rows are
// computed is in SimulatorWalk.cpp and SimulatorUpdates.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

Simulator::Simulator(const Setting &setting)
    : setting(setting), devices(static_cast<int>(setting.machine.devices())),
      timing(setting), order(setting.graph, timing, devices) {
  moving = order.noPorts();
  touched.resize(order.ports.size());
  const size_t count = order.positions.size() + 1;
  const size_t width = Row::width * devices, leftWidth = 2 * devices;
  storage.assign(2 * (width * count + leftWidth * order.stretches.size()), 0);
  Ticks *next = storage.data();
  auto take = [&](size_t values) { return std::exchange(next, next + values); };
  for (auto *list : {&rows, &triedRows})
    for (size_t i = 0; i < count; ++i)
      list->push_back(take(width));
  for (auto *list : {&left, &triedLeft})
    for (size_t i = 0; i < order.stretches.size(); ++i)
      list->push_back(take(leftWidth));
  isPlayed.assign(left.size(), false);
  pending.resize(devices);
  sync.resize(devices);
  shifts.assign(count, 0);
  triedShifts.assign(count, 0);
  walked.assign(count, false);
  stops.resize(count);
  fetching.assign(count, false);
  triedFetching.assign(count, false);
}

PlacedExchange Simulator::findExchange(const StepOrder::Port &port) {
  const PlacedTensor &made = layers[port.maker]->made[port.made],
                     &read = layers[port.reader]->read[port.read];
  if (PlacedTensor::isThere(made, read))
    return {};
  llvm::SmallVector<const PlacedTensor *> there;
  for (int other : port.earlier) {
    const StepOrder::Port &before = order.ports[other];
    const PlacedTensor &tensor = layers[before.reader]->read[before.read];
    if (tensor == read)
      return {};
    if (!PlacedTensor::isThere(made, tensor))
      there.push_back(&tensor);
  }
  const PlacedExchange placed = timing.exchange(
      made, read, there, setting.graph.tensors[port.tensor].elementBytes);
  if (placed)
    longestCutting = std::max(longestCutting, placed.exchange->cutting);
  return placed;
}

void Simulator::swapExchange(int port, PlacedExchange &other) {
  std::swap(exchanges[port], other);
  uint64_t bit = uint64_t(1) << port % 64;
  if (exchanges[port])
    moving[port / 64] |= bit;
  else
    moving[port / 64] &= ~bit;
}

void Simulator::addMemory(const TimedLayer &layer, std::vector<int64_t> &sum,
                          int sign) {
  for (auto [d, total] : llvm::enumerate(sum))
    total += sign * layer[TimedLayer::memory][d];
}

/// Adds the copies of what the forward pass made on other devices, and what is
/// assembled of them.
void Simulator::addMemory(int port, const PlacedExchange &placed,
                          std::vector<int64_t> &sum, int sign) const {
  if (!placed ||
      setting.graph.tensors[order.ports[port].tensor].made != Phase::forward)
    return;
  for (const Arrival &arrival : placed.exchange->arrivals)
    sum[placed.names[arrival.device]] += sign * arrival.bytes;
  for (const AssemblyTask &task : placed.exchange->after)
    sum[placed.names[task.device]] += sign * task.made;
}

/// Asks for the tasks and exchanges of what holds. A proposal is forgotten.
void Simulator::askAnew() {
  const bool isFull = timing.isFull();
  if (isFull)
    timing.forget();
  tried.clear();
  triedLayers.clear();
  movedPorts.clear();
  triedExchanges.clear();
  layers.clear();
  for (auto [i, tiling] : llvm::enumerate(held))
    layers.push_back(&timing.layer(static_cast<int>(i), tiling));
  exchanges.resize(order.ports.size());
  for (auto [i, port] : llvm::enumerate(order.ports)) {
    PlacedExchange exchange = findExchange(port);
    swapExchange(static_cast<int>(i), exchange);
  }
  if (isFull)
    timing.hold();
}

Ticks Simulator::simulate(const Tilings &tilings) {
  held = tilings;
  askAnew();
  memoryUse.assign(devices, 0);
  for (const TimedLayer *layer : layers)
    addMemory(*layer, memoryUse, 1);
  for (auto [i, exchange] : llvm::enumerate(exchanges))
    addMemory(static_cast<int>(i), exchange, memoryUse, 1);
  std::fill_n(rows[0], Row::width * devices, 0);
  shifts[0] = 0;
  stops.reset();
  stops.set(0);
  walk(/*anew=*/true);
  std::swap(rows[0], triedRows[0]);
  rows.swap(triedRows);
  fetching.swap(triedFetching);
  left.swap(triedLeft);
  std::fill(shifts.begin(), shifts.end(), 0);
  result = triedResult;
  return result;
}

Ticks Simulator::propose(llvm::ArrayRef<Change> changes) {
  if (timing.isFull())
    askAnew();
  tried.assign(changes.begin(), changes.end());
  triedLayers.clear();
  movedPorts.clear();
  triedMemory = memoryUse;
  stops.reset();
  touched.reset();
  for (const Change &change : changes) {
    const TimedLayer &layer = timing.layer(change.layer, change.tiling);
    addMemory(*layers[change.layer], triedMemory, -1);
    addMemory(layer, triedMemory, 1);
    triedLayers.push_back(std::exchange(layers[change.layer], &layer));
    stops |= order.positionsOf[change.layer];
    touched |= order.portsOf[change.layer];
  }
  triedExchanges.clear();
  for (int port : touched.set_bits()) {
    PlacedExchange exchange = findExchange(order.ports[port]);
    if (exchange == exchanges[port])
      continue;
    addMemory(port, exchanges[port], triedMemory, -1);
    addMemory(port, exchange, triedMemory, 1);
    stops.set(order.ports[port].to);
    swapExchange(port, exchange);
    movedPorts.push_back(port);
    triedExchanges.push_back(exchange);
  }
  walk(/*anew=*/false);
  swapTables();
  return triedResult;
}

/// The tables hold what holds; outside of propose(), tried* is the proposal's.
void Simulator::swapTables() {
  for (auto [change, layer] : llvm::zip_equal(tried, triedLayers))
    std::swap(layers[change.layer], layer);
  for (auto [port, exchange] : llvm::zip_equal(movedPorts, triedExchanges))
    swapExchange(port, exchange);
}

void Simulator::accept() {
  swapTables();
  for (const Change &change : tried)
    held[change.layer] = change.tiling;
  for (const Jump &jump : jumps)
    for (int d = 0; d < devices; ++d)
      for (int row = jump.from + 1;
           row <= jump.to && hasReceivedNothing(jump, row, d); ++row)
        rows[row][devices + d] =
            freeAfter(jump, row, d) - shifts[row] - triedShifts[row];
  for (int i = firstTried; i < static_cast<int>(rows.size()); ++i)
    if (walked[i]) {
      std::swap(rows[i], triedRows[i]);
      fetching[i] = triedFetching[i];
      shifts[i] = 0;
    } else {
      shifts[i] += triedShifts[i];
    }
  for (auto [stretch, row] : llvm::enumerate(order.stretches))
    if (isPlayed[stretch]) {
      std::swap(left[stretch], triedLeft[stretch]);
      for (int d = 0; d < devices; ++d)
        left[stretch][devices + d] -= shifts[row];
    }
  memoryUse = triedMemory;
  result = triedResult;
  // Nothing is proposed any more.
  tried.clear();
  triedLayers.clear();
  movedPorts.clear();
  triedExchanges.clear();
  jumps.clear();
  std::fill(isPlayed.begin(), isPlayed.end(), false);
  firstTried = static_cast<int>(rows.size());
}

int64_t Simulator::bytes() const {
  int64_t sum = 0;
  for (const PlacedExchange &placed : exchanges)
    sum += placed ? placed.exchange->bytes() : 0;
  for (const TimedLayer *layer : layers)
    sum += layer->reduce.bytes() + layer->gather.bytes();
  return sum;
}

int64_t Simulator::memory() const { return *llvm::max_element(memoryUse); }

int64_t Simulator::proposedMemory() const {
  return *llvm::max_element(triedMemory);
}

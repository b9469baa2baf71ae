//===- Simulator.cpp - How long a step takes under a plan -----------------===//
//
// Full and delta mode: which tasks and exchanges hold, which of them a proposal
// changes, and what becomes of the rows when it is accepted. How rows are
// computed is in SimulatorWalk.cpp.
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
  size_t width = Row::width * devices, count = order.positions.size() + 1;
  storage.assign(2 * width * count, 0);
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(&storage[i * width]);
    triedRows.push_back(&storage[(count + i) * width]);
  }
  shifts.assign(count, 0);
  triedShifts.assign(count, 0);
  walked.assign(count, false);
}

Simulator::SharedExchange Simulator::findExchange(const StepOrder::Port &port) {
  const RegionSet &made = layers[port.maker]->made[port.made],
                  &read = layers[port.reader]->read[port.read];
  if (RegionSet::isThere(made, read))
    return nullptr;
  llvm::SmallVector<const RegionSet *> there;
  for (int other : port.earlier) {
    const StepOrder::Port &before = order.ports[other];
    const RegionSet &set = layers[before.reader]->read[before.read];
    if (set.number() == read.number())
      return nullptr;
    if (!RegionSet::isThere(made, set))
      there.push_back(&set);
  }
  SharedExchange exchange = timing.exchange(
      made, read, there, setting.graph.tensors[port.tensor].elementBytes);
  Ticks before = 0;
  if (exchange)
    for (const AssemblyTask &task : exchange->before)
      before += task.duration;
  longestBefore = std::max(longestBefore, before);
  return exchange;
}

void Simulator::swapExchange(int port, SharedExchange &other) {
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
void Simulator::addMemory(int port, const Exchange *exchange,
                          std::vector<int64_t> &sum, int sign) const {
  if (!exchange ||
      setting.graph.tensors[order.ports[port].tensor].made != Phase::forward)
    return;
  for (const Arrival &arrival : exchange->arrivals)
    sum[arrival.device] += sign * arrival.bytes;
  for (const AssemblyTask &task : exchange->after)
    sum[task.device] += sign * task.made;
}

Ticks Simulator::simulate(const Tilings &tilings) {
  held = tilings;
  layers.clear();
  tried.clear();
  triedLayers.clear();
  movedPorts.clear();
  memoryUse.assign(devices, 0);
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    layers.push_back(timing.layer(static_cast<int>(i), tiling));
    addMemory(*layers.back(), memoryUse, 1);
  }
  exchanges.resize(order.ports.size());
  for (auto [i, port] : llvm::enumerate(order.ports)) {
    SharedExchange exchange = findExchange(port);
    addMemory(static_cast<int>(i), exchange.get(), memoryUse, 1);
    swapExchange(static_cast<int>(i), exchange);
  }
  std::fill_n(rows[0], Row::width * devices, 0);
  shifts[0] = 0;
  walk({0}, /*anew=*/true);
  std::swap(rows[0], triedRows[0]);
  rows.swap(triedRows);
  std::fill(shifts.begin(), shifts.end(), 0);
  result = triedResult;
  return result;
}

Ticks Simulator::propose(llvm::ArrayRef<Change> changes) {
  tried.assign(changes.begin(), changes.end());
  triedLayers.clear();
  movedPorts.clear();
  triedMemory = memoryUse;
  llvm::SmallVector<int, 32> stops;
  for (const Change &change : changes) {
    addMemory(*layers[change.layer], triedMemory, -1);
    triedLayers.push_back(std::exchange(
        layers[change.layer], timing.layer(change.layer, change.tiling)));
    addMemory(*layers[change.layer], triedMemory, 1);
    llvm::append_range(stops, order.positionsOf[change.layer]);
    llvm::append_range(movedPorts, order.portsOf[change.layer]);
  }
  std::sort(movedPorts.begin(), movedPorts.end());
  movedPorts.erase(llvm::unique(movedPorts), movedPorts.end());
  triedExchanges.resize(std::max(triedExchanges.size(), movedPorts.size()));
  for (auto [i, port] : llvm::enumerate(movedPorts)) {
    triedExchanges[i] = findExchange(order.ports[port]);
    addMemory(port, exchanges[port].get(), triedMemory, -1);
    addMemory(port, triedExchanges[i].get(), triedMemory, 1);
    if (triedExchanges[i] != exchanges[port])
      stops.push_back(order.ports[port].to);
    swapExchange(port, triedExchanges[i]);
  }
  std::sort(stops.begin(), stops.end());
  walk(stops, /*anew=*/false);
  swapTables();
  return triedResult;
}

/// The tables hold what holds; outside of propose(), tried* is the proposal's.
void Simulator::swapTables() {
  for (auto [change, layer] : llvm::zip_equal(tried, triedLayers))
    std::swap(layers[change.layer], layer);
  for (auto [i, port] : llvm::enumerate(movedPorts))
    swapExchange(port, triedExchanges[i]);
}

void Simulator::accept() {
  swapTables();
  for (const Change &change : tried)
    held[change.layer] = change.tiling;
  for (const Jump &jump : jumps)
    for (int row = jump.from + 1; row <= jump.to; ++row)
      for (int d = 0; d < devices; ++d)
        rows[row][devices + d] =
            freeAfter(jump, row, d) - shifts[row] - triedShifts[row];
  for (int i = firstTried; i < static_cast<int>(rows.size()); ++i)
    if (walked[i]) {
      std::swap(rows[i], triedRows[i]);
      shifts[i] = 0;
    } else {
      shifts[i] += triedShifts[i];
    }
  memoryUse = triedMemory;
  result = triedResult;
  // Nothing is proposed any more.
  tried.clear();
  triedLayers.clear();
  movedPorts.clear();
  jumps.clear();
  firstTried = static_cast<int>(rows.size());
}

int64_t Simulator::bytes() const {
  int64_t sum = 0;
  for (const SharedExchange &exchange : exchanges)
    sum += exchange ? exchange->bytes() : 0;
  for (const auto &layer : layers)
    sum += layer->reduce.bytes() + layer->gather.bytes();
  return sum;
}

int64_t Simulator::memory() const { return *llvm::max_element(memoryUse); }

int64_t Simulator::proposedMemory() const {
  return *llvm::max_element(triedMemory);
}

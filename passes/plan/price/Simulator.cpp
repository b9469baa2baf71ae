//===- Simulator.cpp - How long a step takes under a plan -----------------===//

#include "passes/plan/price/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <bit>
#include <limits>
#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

Simulator::Simulator(const Setting &setting)
    : setting(setting), devices(static_cast<int>(setting.machine.devices())),
      timing(setting), order(setting.graph, timing, devices) {
  moving = order.noPorts();
  size_t width = 3 * devices, count = order.positions.size() + 1;
  storage.assign(2 * width * count, 0);
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(&storage[i * width]);
    triedRows.push_back(&storage[(count + i) * width]);
  }
  shifts.assign(count, 0);
  triedShifts.assign(count, 0);
  walked.assign(count, false);
}

//===----------------------------------------------------------------------===//
// A walk
//===----------------------------------------------------------------------===//

/// Adds to a time of each device how long it cuts what it sends.
static void addCutting(const Exchange &exchange, Ticks *times) {
  for (const AssemblyTask &task : exchange.before)
    times[task.device] += task.duration;
}

/// Devices receive what others have made by the times `ready`. Their compute
/// lanes wait for it, and assemble it.
void Simulator::receive(const Exchange &exchange, const Ticks *ready,
                        Row row) const {
  // Programs cut what is to be sent as soon as it is made.
  std::array<Ticks, mostDevices> assembled;
  if (!exchange.before.empty()) {
    std::copy_n(ready, devices, assembled.begin());
    ready = assembled.data();
    addCutting(exchange, assembled.data());
    addCutting(exchange, row.compute);
  }
  for (const Arrival &arrival : exchange.arrivals) {
    int to = arrival.device;
    Ticks start = row.transfer[to];
    arrival.sources.forEach(
        [&](int from) { start = std::max(start, ready[from]); });
    Ticks end = start + arrival.duration;
    row.transfer[to] = end;
    if (Ticks beside = std::min(end, row.compute[to]) - start; beside > 0)
      row.lost[to] += timing.slowdown(beside);
    row.compute[to] = std::max(row.compute[to], end);
  }
  for (const AssemblyTask &task : exchange.after) {
    Ticks &lane = row.compute[task.device];
    task.sources.forEach([&](int from) { lane = std::max(lane, ready[from]); });
    lane += task.duration;
  }
}

/// Sends gradients to the owners of parameters, which update them and send the
/// new values back. Devices compute meanwhile.
void Simulator::update(const TimedLayer &layer, Row row) const {
  for (int d = 0; d < devices; ++d)
    row.compute[d] += layer[TimedLayer::ownUpdate][d];
  auto exchange = [&](const Exchange &exchange, const Ticks *ready,
                      const Ticks *after) {
    for (const Arrival &arrival : exchange.arrivals) {
      int to = arrival.device;
      Ticks start = std::max(row.transfer[to], ready[to]);
      arrival.sources.forEach(
          [&](int from) { start = std::max(start, ready[from]); });
      Ticks duration = arrival.duration + (after ? after[to] : 0);
      row.transfer[to] = start + duration;
      row.lost[to] += timing.slowdown(duration);
    }
  };
  exchange(layer.reduce, row.compute, layer[TimedLayer::update]);
  std::array<Ticks, mostDevices> updated;
  std::copy_n(row.transfer, devices, updated.begin());
  exchange(layer.gather, updated.data(), nullptr);
}

/// When the compute lanes are free at a row. `values` is room for the answer,
/// which may also lie elsewhere.
const Ticks *Simulator::computeAt(int row, Ticks *values) const {
  if (isWalked(row))
    return triedRows[row];
  Ticks shift = shifts[row] + shiftOf(row);
  for (int d = 0; d < devices; ++d)
    values[d] = rows[row][d] + shift;
  return values;
}

/// Computes the row behind a position from the row before it.
void Simulator::play(int at) {
  const StepOrder::Position &position = order.positions[at];
  Row row = rowOf(triedRows[at + 1], devices);
  if (isWalked(at)) {
    std::copy_n(triedRows[at], 3 * devices, row.compute);
  } else {
    computeAt(at, row.compute);
    for (int d = 0; d < devices; ++d)
      row.transfer[d] = jumps.empty() ? heldAt(at, devices + d)
                                      : freeAfter(jumps.back(), at, d);
    std::copy_n(rows[at] + 2 * devices, devices, row.lost);
  }
  std::array<Ticks, mostDevices> ready;
  for (int port : position.fetched) {
    const Exchange *exchange = exchanges[port].get();
    if (!exchange)
      continue;
    receive(*exchange, computeAt(order.ports[port].from + 1, ready.data()),
            row);
  }
  const TimedLayer &layer = *layers[position.layer];
  const Ticks *busy = layer.busy(position.phase);
  for (int d = 0; d < devices; ++d)
    if (busy[d] > 0)
      row.compute[d] += busy[d] + std::exchange(row.lost[d], 0);
  if (!position.regrouped.empty())
    std::copy_n(row.compute, devices, ready.begin());
  for (int port : position.regrouped)
    if (const Exchange *exchange = exchanges[port].get())
      receive(*exchange, ready.data(), row);
  if (position.phase == Phase::weight)
    update(layer, row);
}

/// Whether everything behind a row, which was walked, is as it holds, but for a
/// `shift` of all times.
bool Simulator::isShifted(int row, Ticks &shift) const {
  Row now = rowOf(triedRows[row], devices), before = rowOf(rows[row], devices);
  Ticks difference = now.compute[0] - before.compute[0];
  Ticks least = now.compute[0];
  for (int d = 0; d < devices; ++d) {
    if (now.compute[d] - before.compute[d] != difference ||
        now.lost[d] != before.lost[d])
      return false;
    least = std::min(least, now.compute[d]);
  }
  // Nothing starts before the first compute lane is free. When a transfer lane
  // became free before that does not matter.
  Ticks free = std::numeric_limits<Ticks>::max();
  for (int d = 0; d < devices; ++d) {
    Ticks later = before.transfer[d] + difference;
    if (now.transfer[d] == later)
      free = std::min({free, later, before.transfer[d] + shifts[row]});
    else if (now.transfer[d] > least || later > least)
      return false;
    else
      free = std::numeric_limits<Ticks>::min();
    free = std::min({free, now.compute[d], before.compute[d] + shifts[row]});
  }
  shift = difference - shifts[row];
  // Exchanges that start behind the row may wait for what was made before it.
  // If the transfer lane is shifted, everything made before that the lane will
  // wait for must be shifted as well. If the lane is not shifted, all of it
  // must be, and the lane must wait for it.
  for (size_t word = moving.size(); word-- > 0;)
    for (uint64_t left = order.crossing[row][word] & moving[word]; left;) {
      int bit = 63 - std::countl_zero(left);
      left ^= uint64_t(1) << bit;
      int port = static_cast<int>(64 * word) + bit;
      // No lane waits for this port, nor for any that left earlier.
      if (latestAt(order.ports[port].from + 1) + longestBefore <= free)
        return true;
      if (!isShifted(port, row, shift))
        return false;
    }
  return true;
}

/// When the last compute lane is free at a row, as it holds or under the
/// proposal.
Ticks Simulator::latestAt(int row) const {
  Ticks latest =
      *std::max_element(rows[row], rows[row] + devices) + shifts[row];
  if (isWalked(row))
    return std::max(
        latest, *std::max_element(triedRows[row], triedRows[row] + devices));
  return latest + std::max<Ticks>(shiftOf(row), 0);
}

bool Simulator::isShifted(int port, int row, Ticks shift) const {
  int made = order.ports[port].from + 1;
  const Exchange &exchange = *exchanges[port];
  std::array<Ticks, mostDevices> prepared;
  std::fill_n(prepared.begin(), devices, 0);
  addCutting(exchange, prepared.data());
  auto isLaneShifted = [&](const DeviceSet &sources, int lane) {
    Ticks free = triedRows[row][lane], wasFree = rows[row][lane] + shifts[row];
    bool laneShifted = free - wasFree == shift;
    return sources.allOf([&](int from) {
      Ticks ready = triedAt(made, from) + prepared[from],
            was = heldAt(made, from) + prepared[from];
      bool isEarly = ready <= free && was <= wasFree;
      bool isLate = ready >= free && was >= wasFree;
      bool readyShifted = ready - was == shift;
      return laneShifted ? readyShifted || isEarly : readyShifted && isLate;
    });
  };
  return llvm::all_of(exchange.arrivals,
                      [&](const Arrival &arrival) {
                        return isLaneShifted(arrival.sources,
                                             devices + arrival.device);
                      }) &&
         llvm::all_of(exchange.after, [&](const AssemblyTask &task) {
           return isLaneShifted(task.sources, task.device);
         });
}

/// When a transfer lane is free at a row within a jump. What it received since
/// the jump began is shifted. If it received nothing, it is free as it was
/// then.
Ticks Simulator::freeAfter(const Jump &jump, int row, int device) const {
  int lane = devices + device;
  return heldAt(row, lane) == heldAt(jump.from, lane)
             ? triedRows[jump.from][lane]
             : heldAt(row, lane) + triedShifts[row];
}

/// Plays the positions `stops`, in rising order, and what follows each of them
/// until only times are shifted; all positions if `anew`.
void Simulator::walk(llvm::ArrayRef<int> stops, bool anew) {
  int count = static_cast<int>(order.positions.size());
  int at = stops.empty() ? count : stops[0];
  firstTried = at + 1;
  jumps.clear();
  std::fill(walked.begin() + std::min(firstTried, count), walked.end(), false);
  size_t next = 0;
  while (at < count) {
    play(at);
    walked[++at] = true;
    while (next < stops.size() && stops[next] < at)
      ++next;
    int stop = next < stops.size() ? stops[next] : count;
    Ticks shift;
    if (anew || stop == at || !isShifted(at, shift))
      continue;
    std::fill(triedShifts.begin() + at + 1, triedShifts.begin() + stop + 1,
              shift);
    jumps.push_back({at, stop});
    at = stop;
  }
  triedResult = 0;
  for (int lane = 0; lane < 2 * devices; ++lane)
    triedResult = std::max(triedResult, triedAt(count, lane));
}

//===----------------------------------------------------------------------===//
// Full and delta mode
//===----------------------------------------------------------------------===//

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
  std::fill_n(rows[0], 3 * devices, 0);
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

//===- SimulatorWalk.cpp - One walk over the positions of a step ----------===//
//
// Computes the rows of a Simulator: when each lane is free behind each position
// of a step, and from where on a proposal only shifts what holds. What is
// proposed and what holds is Simulator.cpp's.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <bit>
#include <limits>
#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

/// Adds to a time of each device how long it cuts what it sends.
static void addCutting(const Exchange &exchange, Ticks *times) {
  for (const AssemblyTask &task : exchange.before)
    times[task.device] += task.duration;
}

/// Devices receive what others have made by the times `ready`. Their compute
/// lanes wait for it, and assemble it.
void Simulator::receive(const Exchange &exchange, const Ticks *ready,
                        Row row) const {
  auto waitFor = [&](int device, Ticks time) {
    row.waited[device] += std::max<Ticks>(time - row.compute[device], 0);
    row.compute[device] = std::max(row.compute[device], time);
  };
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
    row.received[to] += arrival.duration;
    if (Ticks beside = std::min(end, row.compute[to]) - start; beside > 0)
      row.lost[to] += timing.slowdown(beside);
    waitFor(to, end);
  }
  for (const AssemblyTask &task : exchange.after) {
    task.sources.forEach([&](int from) { waitFor(task.device, ready[from]); });
    row.compute[task.device] += task.duration;
  }
}

/// What exchanges for a layer's update cost the kernels beside them.
void Simulator::slowDown(const TimedLayer &layer, Row row) const {
  for (const Arrival &arrival : layer.reduce.arrivals)
    row.lost[arrival.device] += timing.slowdown(
        arrival.duration + layer[TimedLayer::update][arrival.device]);
  for (const Arrival &arrival : layer.gather.arrivals)
    row.lost[arrival.device] += timing.slowdown(arrival.duration);
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
  std::fill_n(row.waited, 2 * devices, 0); // `received`, too
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
  for (int d = 0; d < devices && !position.mayWait; ++d)
    if (busy[d] > 0)
      row.compute[d] += busy[d] + std::exchange(row.lost[d], 0);
  if (!position.regrouped.empty())
    std::copy_n(row.compute, devices, ready.begin());
  for (int port : position.regrouped)
    if (const Exchange *exchange = exchanges[port].get())
      receive(*exchange, ready.data(), row);
  if (position.phase == Phase::weight)
    slowDown(layer, row);
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
  triedResult = finish();
}

//===----------------------------------------------------------------------===//
// Gradients of parameters, and updates
//===----------------------------------------------------------------------===//

/// Sends gradients to the owners of parameters, which update them and send the
/// new values back. Devices compute meanwhile.
void Simulator::update(const TimedLayer &layer, int row) {
  std::array<Ticks, mostDevices> ready;
  for (int d = 0; d < devices; ++d) {
    pending[d] += layer[TimedLayer::ownUpdate][d];
    ready[d] = triedAt(row, d) + pending[d];
  }
  auto exchange = [&](const Exchange &exchange, const Ticks *after) {
    for (const Arrival &arrival : exchange.arrivals) {
      int to = arrival.device;
      Ticks start = std::max(sync[to], ready[to]);
      arrival.sources.forEach(
          [&](int from) { start = std::max(start, ready[from]); });
      sync[to] = start + arrival.duration + (after ? after[to] : 0);
    }
  };
  exchange(layer.reduce, layer[TimedLayer::update]);
  for (int d = 0; d < devices; ++d)
    ready[d] = std::max(ready[d], sync[d]);
  exchange(layer.gather, nullptr);
}

/// When all lanes are idle. Gradients of parameters fill the time in which
/// devices wait. Updates wait for all that is left of them by then.
Ticks Simulator::finish() {
  pending.assign(devices, 0);
  sync.assign(devices, 0);
  const int count = static_cast<int>(order.positions.size());
  for (int at = order.firstWeight; at < count; ++at) {
    const StepOrder::Position &position = order.positions[at];
    const Row row =
        rowOf(isWalked(at + 1) ? triedRows[at + 1] : rows[at + 1], devices);
    for (int d = 0; d < devices; ++d) {
      pending[d] = std::max<Ticks>(pending[d] - row.waited[d], 0);
      if (row.received[d] > 0 && sync[d] > triedAt(at, d))
        sync[d] += row.received[d];
    }
    if (position.phase != Phase::weight)
      continue;
    const TimedLayer &layer = *layers[position.layer];
    if (position.mayWait)
      for (int d = 0; d < devices; ++d)
        pending[d] += layer.busy(Phase::weight)[d];
    update(layer, at + 1);
  }
  Ticks end = 0;
  for (int d = 0; d < devices; ++d)
    end = std::max({end, triedAt(count, d) + pending[d],
                    triedAt(count, devices + d), sync[d]});
  return end;
}

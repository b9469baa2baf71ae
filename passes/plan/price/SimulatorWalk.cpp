//===- SimulatorWalk.cpp - One walk over the positions of a step ----------===//
//
// Computes the rows of a Simulator: when each lane is free behind each position
// of a step, and from where on a proposal only shifts what holds. What is
// proposed and what holds is Simulator.cpp's, what nothing waits for is
// SimulatorUpdates.cpp's.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

/// Adds to a time of each device how long it cuts what it sends.
static void addCutting(const PlacedExchange &placed, Ticks *times) {
  for (const AssemblyTask &task : placed.exchange->before)
    times[placed.names[task.device]] += task.duration;
}

namespace {
/// Which of some devices is ready last, and when all others are.
struct Last {
  int device = -1;
  Ticks ready = 0, others = 0;
  /// When all are ready but one.
  Ticks without(int other) const { return other == device ? others : ready; }
};
} // namespace

static Last lastOf(const DeviceSet &set, const int *names, const Ticks *ready) {
  Last last;
  set.forEach([&](int number) {
    const int device = names[number];
    if (ready[device] >= last.ready) {
      last = {device, ready[device], last.ready};
    } else {
      last.others = std::max(last.others, ready[device]);
    }
  });
  return last;
}

/// Devices receive what others have made by the times `ready`. Their compute
/// lanes wait for it, and assemble it.
void Simulator::receive(const PlacedExchange &placed, const Ticks *ready,
                        Row row) const {
  const Exchange &exchange = *placed.exchange;
  const int *names = placed.names;
  auto waitFor = [&](int device, Ticks time) {
    row.waited[device] += std::max<Ticks>(time - row.compute[device], 0);
    row.compute[device] = std::max(row.compute[device], time);
  };
  // Programs cut what is to be sent as soon as it is made.
  std::array<Ticks, mostDevices> assembled;
  if (!exchange.before.empty()) {
    std::copy_n(ready, devices, assembled.begin());
    ready = assembled.data();
    addCutting(placed, assembled.data());
    addCutting(placed, row.compute);
  }
  llvm::SmallVector<Last, 64> last; // of each set of sources
  for (const DeviceSet &set : exchange.sources)
    last.push_back(lastOf(set, names, ready));
  for (const Arrival &arrival : exchange.arrivals) {
    int to = names[arrival.device];
    Ticks start = std::max(row.transfer[to], last[arrival.sources].without(to));
    Ticks end = start + arrival.duration;
    row.transfer[to] = end;
    row.received[to] += arrival.duration;
    if (Ticks beside = std::min(end, row.compute[to]) - start; beside > 0)
      row.lost[to] += timing.slowdown(beside);
    waitFor(to, end);
  }
  for (const AssemblyTask &task : exchange.after) {
    int at = names[task.device];
    if (task.sources >= 0)
      waitFor(at, last[task.sources].without(at));
    row.compute[at] += task.duration;
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
  bool isFetching = false;
  for (int port : position.fetched)
    if (const PlacedExchange &placed = exchanges[port]) {
      receive(placed, computeAt(order.ports[port].from + 1, ready.data()), row);
      isFetching = true;
    }
  const TimedLayer &layer = *layers[position.layer];
  const Ticks *busy = layer.busy(position.phase);
  for (int d = 0; d < devices && !position.mayWait; ++d)
    if (busy[d] > 0)
      row.compute[d] += busy[d] + std::exchange(row.lost[d], 0);
  if (!position.regrouped.empty())
    std::copy_n(row.compute, devices, ready.begin());
  for (int port : position.regrouped)
    if (const PlacedExchange &placed = exchanges[port]) {
      receive(placed, ready.data(), row);
      isFetching = true;
    }
  triedFetching[at + 1] = isFetching;
  if (position.phase == Phase::weight)
    slowDown(layer, row);
}

/// Whether everything behind a row, which was walked, is as it holds, but for a
/// `shift` of all times.
bool Simulator::isShifted(int row, Ticks &shift) {
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
  // must be, and the lane must wait for it. The port that was in the way at the
  // last row mostly still is.
  if (blocking >= 0 && order.ports[blocking].to >= row &&
      !isShifted(blocking, row, shift))
    return false;
  blocking = -1;
  for (size_t word = moving.size(); word-- > 0;)
    for (uint64_t left = order.crossing[row][word] & moving[word]; left;) {
      int bit = 63 - std::countl_zero(left);
      left ^= uint64_t(1) << bit;
      int port = static_cast<int>(64 * word) + bit;
      // No lane waits for this port, nor for any that left earlier.
      if (latestAt(order.ports[port].from + 1) + longestCutting <= free)
        return true;
      if (!isShifted(port, row, shift)) {
        blocking = port;
        return false;
      }
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
  const int made = order.ports[port].from + 1;
  const Exchange &exchange = *exchanges[port].exchange;
  const int *names = exchanges[port].names;
  const bool isNew = isWalked(made);
  const Ticks *before = rows[made], *now = isNew ? triedRows[made] : before;
  const Ticks shiftBefore = shifts[made],
              shiftNow = isNew ? 0 : shiftBefore + shiftOf(made);
  // Most often all is shifted.
  llvm::SmallVector<bool, 64> areShifted; // each set of sources
  for (const DeviceSet &set : exchange.sources)
    areShifted.push_back(set.allOf([&](int number) {
      const int from = names[number];
      return now[from] + shiftNow - before[from] - shiftBefore == shift;
    }));
  auto isLaneShifted = [&](int sources, int device, int lane) {
    if (sources < 0)
      return true;
    Ticks free = triedRows[row][lane], wasFree = rows[row][lane] + shifts[row];
    bool laneShifted = free - wasFree == shift;
    if (laneShifted && areShifted[sources])
      return true;
    return exchange.sources[sources].allOf([&](int source) {
      int from = names[source];
      if (from == device)
        return true;
      Ticks cutting = 0;
      for (const AssemblyTask &task : exchange.before)
        if (task.device == source)
          cutting += task.duration;
      Ticks ready = now[from] + shiftNow + cutting,
            was = before[from] + shiftBefore + cutting;
      bool isEarly = ready <= free && was <= wasFree;
      bool isLate = ready >= free && was >= wasFree;
      bool readyShifted = ready - was == shift;
      return laneShifted ? readyShifted || isEarly : readyShifted && isLate;
    });
  };
  return llvm::all_of(exchange.arrivals,
                      [&](const Arrival &arrival) {
                        const int to = names[arrival.device];
                        return isLaneShifted(arrival.sources, to, devices + to);
                      }) &&
         llvm::all_of(exchange.after, [&](const AssemblyTask &task) {
           const int at = names[task.device];
           return isLaneShifted(task.sources, at, at);
         });
}

bool Simulator::isAnyWalked(int first, int last) const {
  first = std::max(first, firstTried);
  return first <= last && std::memchr(&walked[first], true, last + 1 - first);
}

bool Simulator::hasReceivedNothing(const Jump &jump, int row,
                                   int device) const {
  return heldAt(row, devices + device) == heldAt(jump.from, devices + device);
}

/// When a transfer lane is free at a row within a jump. What it received since
/// the jump began is shifted. If it received nothing, it is free as it was
/// then.
Ticks Simulator::freeAfter(const Jump &jump, int row, int device) const {
  int lane = devices + device;
  return hasReceivedNothing(jump, row, device)
             ? triedRows[jump.from][lane]
             : heldAt(row, lane) + triedShifts[row];
}

/// Plays the `stops`, and what follows each of them until only times are
/// shifted; all positions if `anew`.
void Simulator::walk(bool anew) {
  const int count = static_cast<int>(order.positions.size());
  auto stopFrom = [&](int position) {
    const int stop = position < count ? stops.find_next(position - 1) : -1;
    return stop < 0 ? count : stop;
  };
  int at = stopFrom(0), stop = at;
  firstTried = at + 1;
  jumps.clear();
  blocking = -1;
  std::fill(walked.begin() + std::min(firstTried, count), walked.end(), false);
  while (at < count) {
    play(at);
    walked[++at] = true;
    if (stop < at)
      stop = stopFrom(at);
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

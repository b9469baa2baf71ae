//===- SimulatorUpdates.cpp - What runs beside the positions of a step ----===//
//
// Gradients of parameters and updates: when each lane is free of them. Nothing
// else waits for them, so that they are played behind the walk
// (SimulatorWalk.cpp), by its rows.
//
// What is left to do at a row is kept behind each position that makes gradients
// of parameters. From one of these to the next, a proposal leaves all as it is,
// but for a shift of time, if that holds of the rows between them and of what
// was left to do before them.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

using namespace lwcc;
using namespace lwcc::plan;

/// Sends gradients to the owners of parameters, which update them and send the
/// new values back. Devices compute meanwhile.
void Simulator::update(const TimedLayer &layer, int row) {
  std::array<Ticks, mostDevices> ready;
  const Ticks *free = computeAt(row, ready.data());
  for (int d = 0; d < devices; ++d) {
    pending[d] += layer[TimedLayer::ownUpdate][d];
    ready[d] = free[d] + pending[d];
  }
  auto exchange = [&](const Exchange &exchange, const Ticks *after) {
    llvm::SmallVector<Ticks, 64> lastOf; // of each set of sources
    for (const DeviceSet &set : exchange.sources) {
      Ticks &last = lastOf.emplace_back(0);
      set.forEach([&](int from) { last = std::max(last, ready[from]); });
    }
    for (const Arrival &arrival : exchange.arrivals) {
      int to = arrival.device;
      Ticks start = std::max({sync[to], ready[to], lastOf[arrival.sources]});
      sync[to] = start + arrival.duration + (after ? after[to] : 0);
    }
  };
  exchange(layer.reduce, layer[TimedLayer::update]);
  for (int d = 0; d < devices; ++d)
    ready[d] = std::max(ready[d], sync[d]);
  exchange(layer.gather, nullptr);
}

/// Gradients of parameters fill the time in which devices wait for a position.
void Simulator::playBeside(int at) {
  const bool isNew = isWalked(at + 1);
  if (isNew ? triedFetching[at + 1] : fetching[at + 1]) {
    const Row row = rowOf(isNew ? triedRows[at + 1] : rows[at + 1], devices);
    for (int d = 0; d < devices; ++d) {
      pending[d] = std::max<Ticks>(pending[d] - row.waited[d], 0);
      if (row.received[d] > 0 && sync[d] > triedAt(at, d))
        sync[d] += row.received[d];
    }
  }
  const StepOrder::Position &position = order.positions[at];
  if (position.phase != Phase::weight)
    return;
  const TimedLayer &layer = *layers[position.layer];
  if (position.mayWait)
    for (int d = 0; d < devices; ++d)
      pending[d] += layer.busy(Phase::weight)[d];
  update(layer, at + 1);
}

/// Takes what is left to do at a row from what holds, of which the rows around
/// it are shifted.
void Simulator::takeLeft(size_t stretch) {
  if (stretch == 0) {
    std::fill(pending.begin(), pending.end(), 0);
    std::fill(sync.begin(), sync.end(), 0);
    return;
  }
  const int row = order.stretches[stretch - 1];
  const Ticks shift = shifts[row] + shiftOf(isWalked(row) ? row + 1 : row);
  const Ticks *values = left[stretch - 1];
  for (int d = 0; d < devices; ++d) {
    pending[d] = values[d];
    sync[d] = values[devices + d] + shift;
  }
}

/// Whether what is left to do behind a stretch is as it holds, but for the
/// shift of the next row. A lane for parameters that is free before the compute
/// lane makes nobody wait, whenever that was.
bool Simulator::isLeftShifted(size_t stretch) const {
  const int row = order.stretches[stretch];
  const Ticks shift = shiftOf(row + 1), *values = left[stretch];
  for (int d = 0; d < devices; ++d) {
    const Ticks before = values[devices + d] + shifts[row];
    if (pending[d] != values[d] ||
        (sync[d] != before + shift &&
         (sync[d] > triedAt(row, d) || before > heldAt(row, d))))
      return false;
  }
  return true;
}

/// When all lanes are idle. Updates wait for all gradients that are left by
/// then.
Ticks Simulator::finish() {
  const int count = static_cast<int>(order.positions.size());
  bool isHeld = true; // what is left to do before a stretch, but for a shift
  int from = order.firstWeight;
  for (auto [stretch, to] : llvm::enumerate(order.stretches)) {
    isPlayed[stretch] = !isHeld || isAnyWalked(from + 1, to);
    if (isPlayed[stretch]) {
      if (isHeld)
        takeLeft(stretch);
      for (int at = from; at < to; ++at)
        playBeside(at);
      std::copy_n(pending.begin(), devices, triedLeft[stretch]);
      std::copy_n(sync.begin(), devices, triedLeft[stretch] + devices);
      isHeld = to < count && !isWalked(to + 1) && isLeftShifted(stretch);
    }
    from = to;
  }
  if (isHeld)
    takeLeft(order.stretches.size());
  Ticks end = 0;
  for (int d = 0; d < devices; ++d)
    end = std::max({end, triedAt(count, d) + pending[d],
                    triedAt(count, devices + d), sync[d]});
  return end;
}

//===- Savings.cpp - What each decision of a plan saves -------------------===//

#include "passes/plan/solve/Savings.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

using namespace lwcc;
using namespace lwcc::plan;

/// How long the kernels of a group take under the tilings that hold, on all
/// devices together.
static Ticks busyOf(const Problem &problem, Simulator &simulator,
                    const LayerGroup &group) {
  Ticks busy = 0;
  for (int layer : group) {
    const TimedLayer &timed =
        simulator.timed(layer, simulator.tilings()[layer]);
    for (Phase phase : {Phase::forward, Phase::backward, Phase::weight})
      for (int64_t device = 0; device < problem.machine.devices(); ++device)
        busy += timed.busy(phase)[device];
  }
  return busy;
}

/// The step with some layers cut otherwise; nothing if none is.
static std::optional<Alternative>
askFor(const Problem &problem, Simulator &simulator,
       const std::vector<Simulator::Change> &changes) {
  if (changes.empty())
    return std::nullopt;
  const Ticks step = simulator.propose(changes);
  return Alternative{changes.front().tiling, step - simulator.step(),
                     simulator.proposedMemory() <=
                         problem.machine.device.memory};
}

/// The whole layer on the first of the devices that it has.
static Tiling onOneDevice(const Tiling &tiling) {
  Tiling whole;
  whole.places = {tiling.places.front()};
  return whole;
}

static bool runsOnOneDevice(const Tiling &tiling) {
  return llvm::all_of(tiling.places, [&](const Place &place) {
    return place.device() == tiling.places.front().device();
  });
}

static Decision decide(const Problem &problem, Simulator &simulator,
                       const Tilings &data, const LayerGroup &group) {
  const Tilings &held = simulator.tilings();
  std::vector<Simulator::Change> toData, toSingle;
  for (int layer : group) {
    if (held[layer] != data[layer])
      toData.push_back({layer, data[layer]});
    if (!runsOnOneDevice(held[layer]))
      toSingle.push_back({layer, onOneDevice(held[layer])});
  }
  const int first = toData.empty() ? group.front() : toData.front().layer;
  return {group, held[first], first, askFor(problem, simulator, toData),
          askFor(problem, simulator, toSingle)};
}

Savings lwcc::plan::savingsOf(const Problem &problem, Simulator &simulator,
                              const Tilings &data, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::vector<std::pair<Ticks, LayerGroup>> groups;
  for (LayerGroup &group : groupsOf(problem.graph))
    groups.emplace_back(busyOf(problem, simulator, group), std::move(group));
  llvm::stable_sort(
      groups, [](const auto &a, const auto &b) { return a.first > b.first; });
  Savings savings;
  for (const auto &[busy, group] : groups) {
    if (std::chrono::duration<double>(Clock::now() - start).count() >= seconds)
      break;
    savings.decisions.push_back(decide(problem, simulator, data, group));
  }
  savings.leftOut = groups.size() - savings.decisions.size();
  llvm::sort(savings.decisions, [](const Decision &a, const Decision &b) {
    return a.layers.front() < b.layers.front();
  });
  return savings;
}

//===- CostModel.cpp - How long a kernel takes ----------------------------===//

#include "passes/plan/price/CostModel.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::plan;

/// Rows, columns and terms at which half of a product's rate is reached.
static constexpr double halfRows = 64, halfColumns = 16, halfTerms = 16;

CostModel::CostModel(const Machine &machine, llvm::StringRef precision,
                     const Profile *profile)
    : profile(profile), nodes(machine.nodes),
      share(machine.oneProcessor ? machine.gpus : 1),
      divides(machine.oneProcessor),
      flops(precision == "tf32" ? machine.device.tf32 : machine.device.fp32),
      bandwidth(machine.device.bandwidth), launch(machine.device.launch),
      processors(machine.device.processors), name(machine.name) {
  if (machine.oneProcessor) {
    flops /= static_cast<double>(machine.gpus);
    bandwidth /= static_cast<double>(machine.gpus);
  }
}

CostModel CostModel::forDevices(int64_t devices) const {
  CostModel costs = *this;
  devices = (devices + nodes - 1) / nodes; // of one processor
  if (share == 1 || devices == share || (profile && !profile->knows(devices)))
    return costs;
  double larger = static_cast<double>(share) / static_cast<double>(devices);
  costs.share = devices;
  costs.flops *= larger;
  costs.bandwidth *= larger;
  return costs;
}

CostModel CostModel::forLane(double part) const {
  CostModel costs = *this;
  if (!divides || part == 1)
    return costs;
  costs.flops *= part;
  costs.bandwidth *= part;
  if (profile && !profile->isEmpty()) {
    double wanted = static_cast<double>(share) / part;
    costs.share = profile->nearest(wanted);
    costs.stretch = stretch * wanted / static_cast<double>(costs.share);
  }
  return costs;
}

bool CostModel::lanesAreMeasured(int64_t lanes) const {
  return profile &&
         (divides ? profile->knows(share) && profile->knows(share * lanes)
                  : profile->knowsProcessors());
}

/// The part of so many processors that a product uses whose result is computed
/// in tiles: those of the last wave leave some idle.
static double usedBy(const Work &work, int64_t processors) {
  constexpr double side = 128; // of a tile
  double tiles = std::ceil(work.m / side) * std::ceil(work.n / side);
  auto all = static_cast<double>(processors);
  return tiles / (all * std::ceil(tiles / all));
}

std::string CostModel::source() const {
  return (profile ? "measured on " + profile->device : "analytic") + ", " +
         name;
}

double CostModel::reached(double m, double n, double k) {
  return m / (m + halfRows) * n / (n + halfColumns) * k / (k + halfTerms);
}

CostModel::Answer CostModel::answer(const Work &work) const {
  Answer answer{0, Answer::analytic};
  auto known = profile && !work.key.empty()
                   ? profile->find(share, work.key, work.amount())
                   : std::nullopt;
  if (known) {
    answer = {known->seconds,
              known->measured ? Answer::measured : Answer::interpolated,
              known->deviation};
    if (stretch != 1) {
      answer.seconds *= stretch;
      answer.deviation *= stretch;
      answer.from = Answer::interpolated;
    }
  } else {
    double compute = 0;
    if (work.flops > 0)
      compute = work.flops / (flops * reached(work.m, work.n, work.k));
    answer.seconds = launch + std::max(compute, work.bytes / bandwidth);
  }
  if (answer.seconds > 0)
    answer.memory = std::min(1.0, work.bytes / bandwidth / answer.seconds);
  if (known && known->processors > 0)
    answer.processors = known->processors;
  else if (work.flops > 0)
    answer.processors = processors > 0 ? usedBy(work, processors) : 1;
  else
    answer.processors = answer.memory;
  return answer;
}

double CostModel::measured(llvm::StringRef key) const {
  auto known = profile ? profile->find(share, key, 0) : std::nullopt;
  return known ? known->seconds : 0;
}

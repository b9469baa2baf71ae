//===- CostModel.cpp - How long a kernel takes ----------------------------===//

#include "passes/plan/price/CostModel.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::plan;

/// Rows, columns and terms at which half of a product's rate is reached.
static constexpr double halfRows = 64, halfColumns = 16, halfTerms = 16;

CostModel::CostModel(const Machine &machine, llvm::StringRef precision,
                     const Profile *profile)
    : profile(profile), share(machine.oneProcessor ? machine.devices() : 1),
      flops(precision == "tf32" ? machine.device.tf32 : machine.device.fp32),
      bandwidth(machine.device.bandwidth), launch(machine.device.launch),
      name(machine.name) {
  if (machine.oneProcessor) {
    flops /= static_cast<double>(machine.devices());
    bandwidth /= static_cast<double>(machine.devices());
  }
}

CostModel CostModel::forDevices(int64_t devices) const {
  CostModel costs = *this;
  if (share == 1 || devices == share || (profile && !profile->knows(devices)))
    return costs;
  double larger = static_cast<double>(share) / static_cast<double>(devices);
  costs.share = devices;
  costs.flops *= larger;
  costs.bandwidth *= larger;
  return costs;
}

std::string CostModel::source() const {
  return (profile ? "measured on " + profile->device : "analytic") + ", " +
         name;
}

double CostModel::reached(double m, double n, double k) {
  return m / (m + halfRows) * n / (n + halfColumns) * k / (k + halfTerms);
}

CostModel::Answer CostModel::answer(const Work &work) const {
  if (profile && !work.key.empty())
    if (auto known = profile->find(share, work.key, work.amount()))
      return {known->seconds,
              known->measured ? Answer::measured : Answer::interpolated,
              known->deviation};
  double compute = 0;
  if (work.flops > 0)
    compute = work.flops / (flops * reached(work.m, work.n, work.k));
  return {launch + std::max(compute, work.bytes / bandwidth), Answer::analytic};
}

double CostModel::measured(llvm::StringRef key) const {
  auto known = profile ? profile->find(share, key, 0) : std::nullopt;
  return known ? known->seconds : 0;
}

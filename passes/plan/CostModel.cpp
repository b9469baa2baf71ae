//===- CostModel.cpp - How long a kernel takes ----------------------------===//

#include "passes/plan/CostModel.h"

#include <algorithm>

using namespace lwcc::plan;

/// Of the peak, what libraries reach on products and copies of any size.
static constexpr double productPeak = 0.8, copyPeak = 0.8;
/// Rows, columns and terms at which half of that is reached.
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

std::string CostModel::source() const {
  return (profile ? "measured on " + profile->device : "analytic") + ", " +
         name;
}

CostModel::Answer CostModel::answer(const Work &work) const {
  if (profile && !work.key.empty())
    if (auto known = profile->find(share, work.key, work.amount()))
      return {known->seconds,
              known->measured ? Answer::measured : Answer::interpolated};
  double compute = 0;
  if (work.flops > 0) {
    double reached = productPeak * work.m / (work.m + halfRows) * work.n /
                     (work.n + halfColumns) * work.k / (work.k + halfTerms);
    compute = work.flops / (flops * reached);
  }
  return {launch + std::max(compute, work.bytes / (bandwidth * copyPeak)),
          Answer::analytic};
}

//===- Metric.cpp - What is counted beside the loss -----------------------===//

#include "runtime/train/report/Metric.h"

#include "runtime/train/files/Text.h"

#include <cmath>

namespace lwcc::rt::train {

std::string Metric::text(double mean) const {
  const std::string title = key == "top1" ? "top-1" : key;
  return title +
         (isFraction ? format(" %.2f %%", 100 * mean) : format(" %.4g", mean));
}

std::string Metric::secondText(double mean) const {
  if (second.empty())
    return "";
  return isFraction ? format("  top-5 %.2f %%", 100 * mean)
                    : "  " + second + format(" %.4g", secondValue(mean));
}

double Metric::secondValue(double mean) const {
  return isFraction ? mean : std::sqrt(mean);
}

Metric metricOf(const Program &program) {
  if (program.lossName.empty())
    return {"top1", "top5", true};
  if (program.lossName == "bce")
    return {"accuracy", "", true};
  if (isComputedByModel(program.lossName))
    return {"output", "", false};
  return {"mae", "rmse", false};
}

} // namespace lwcc::rt::train

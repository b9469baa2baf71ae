//===- LearningRate.cpp - The learning rate of an epoch -------------------===//

#include "runtime/train/loop/LearningRate.h"

#include <cmath>

namespace lwcc::rt::train {

double LearningRate::at(int64_t epoch) const {
  if (epoch < warmupEpochs)
    return warmupLr + epoch * (lr - warmupLr) / warmupEpochs;
  switch (kind) {
  case constant:
    return lr;
  case step:
    return lr * std::pow(decayRate, epoch / decayEpochs);
  case cosine: {
    if (epoch >= epochs)
      return minLr;
    constexpr double pi = 3.14159265358979323846;
    return minLr + (lr - minLr) / 2 * (1 + std::cos(pi * epoch / epochs));
  }
  }
  return lr;
}

} // namespace lwcc::rt::train

//===- LearningRate.cpp - The learning rate of a step ---------------------===//

#include "runtime/train/loop/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace lwcc::rt::train {

/// Half a cosine from `from`, where `part` is 0, to `to`, where it is 1.
static double anneal(double from, double to, double part) {
  constexpr double pi = 3.14159265358979323846;
  return to + (from - to) / 2 * (1 + std::cos(pi * part));
}

static double oneCycle(const LearningRate &rate, int64_t at) {
  const double low = rate.lr / rate.divFactor;
  const double steps = static_cast<double>(rate.steps);
  const double step = static_cast<double>(std::min(at, rate.steps - 1));
  const double top = rate.pctStart * steps - 1; // where it is the highest
  if (top > 0 && step <= top)
    return anneal(low, rate.lr, step / top);
  return anneal(rate.lr, low / rate.finalDivFactor,
                (step - top) / (steps - 1 - top));
}

static double plateauAfter(const LearningRate &rate, int64_t falls) {
  constexpr double least = 1e-8; // a smaller fall is none
  double lr = rate.lr;
  for (int64_t i = 0; i < falls; ++i) {
    const double next = std::max(lr * rate.decayRate, rate.minLr);
    if (!(lr - next > least))
      break; // nor will the next one be
    lr = next;
  }
  return lr;
}

double LearningRate::at(const Moment &moment) const {
  const auto [epoch, step, falls] = moment;
  if (epoch < warmupEpochs)
    return warmupLr + epoch * (lr - warmupLr) / warmupEpochs;
  if (step < warmupSteps)
    return warmupLr + step * (lr - warmupLr) / warmupSteps;
  switch (kind) {
  case constant:
    return lr;
  case LearningRate::step:
    return lr * std::pow(decayRate, epoch / decayEpochs);
  case multistep:
    return lr * std::pow(decayRate,
                         std::count_if(milestones.begin(), milestones.end(),
                                       [&](double at) { return at <= epoch; }));
  case cosine:
    return epoch >= epochs ? minLr : anneal(lr, minLr, double(epoch) / epochs);
  case onecycle:
    return oneCycle(*this, step);
  case plateau:
    return plateauAfter(*this, falls);
  }
  return lr;
}

LearningRate learningRateOf(const Options &options, int64_t epochs,
                            int64_t steps) {
  static constexpr std::pair<std::string_view, LearningRate::Kind> kinds[] = {
      {"constant", LearningRate::constant},
      {"step", LearningRate::step},
      {"multistep", LearningRate::multistep},
      {"cosine", LearningRate::cosine},
      {"onecycle", LearningRate::onecycle},
      {"plateau", LearningRate::plateau}};
  LearningRate rate;
  for (const auto &[name, kind] : kinds)
    if (options.sched == name)
      rate.kind = kind;
  rate.lr = options.lr;
  rate.minLr = options.minLr;
  rate.warmupLr = options.warmupLr;
  rate.warmupEpochs = options.warmupEpochs;
  rate.warmupSteps = options.warmupSteps;
  rate.decayEpochs = options.decayEpochs;
  rate.decayRate = options.decayRate;
  rate.milestones = options.decayMilestones;
  rate.pctStart = options.pctStart;
  rate.divFactor = options.divFactor;
  rate.finalDivFactor = options.finalDivFactor;
  rate.epochs = epochs;
  rate.steps = steps;
  return rate;
}

} // namespace lwcc::rt::train

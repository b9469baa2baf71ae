//===- Improvement.cpp - Whether a training still gets better -------------===//

#include "runtime/train/loop/Improvement.h"

#include "runtime/train/files/Text.h"

#include <cmath>

namespace lwcc::rt::train {

std::string followedMetric(const Options &options) {
  return options.best.empty() ? "val_loss" : options.best;
}

/// NaN where not one image could be read.
static double valueOf(const Evaluation &evaluation, const std::string &metric) {
  if (evaluation.images == 0)
    return std::nan("");
  return metric == "val_loss"   ? evaluation.loss
         : metric == "val_top1" ? evaluation.firstMean()
                                : evaluation.secondMean();
}

Improvement::Improvement(const Options &options, TrainState &state)
    : options(options), state(state), history(state.validations) {
  if (history.metric != followedMetric(options)) {
    const int64_t falls = history.falls; // the learning rate stays what it is
    history = {};
    history.falls = falls;
  }
  history.metric = followedMetric(options);
}

bool Improvement::add(const Evaluation &evaluation) {
  const double value = valueOf(evaluation, history.metric);
  const bool isLoss = history.metric == "val_loss";
  history.step = state.step;
  const bool isBetter =
      std::isfinite(value) &&
      (!hasBest() || (isLoss ? value < history.best : value > history.best));
  if (isBetter) {
    history.best = value;
    history.bestEpoch = state.epoch;
    history.waited = 0;
  } else {
    ++history.waited;
  }
  if (options.sched == "plateau")
    addToPlateau(value, isLoss);
  return isBetter;
}

void Improvement::addToPlateau(double value, bool lowerIsBetter) {
  constexpr double threshold = 1e-4;
  const double factor = lowerIsBetter ? 1 - threshold : 1 + threshold;
  const bool isBetter = !history.level
                            ? std::isfinite(value)
                            : (lowerIsBetter ? value < *history.level * factor
                                             : value > *history.level * factor);
  if (isBetter) {
    history.level = value;
    history.levelWaited = 0;
  } else if (++history.levelWaited > options.plateauPatience) {
    ++history.falls;
    history.levelWaited = 0;
  }
}

bool Improvement::isExhausted() const {
  return options.patience > 0 && history.waited >= options.patience;
}

std::string Improvement::bestText() const {
  const std::string value = history.metric == "val_loss"
                                ? format("%.4f", history.best)
                                : format("%.2f %%", 100 * history.best);
  return history.metric + " " + value + ", of epoch " +
         countText(history.bestEpoch);
}

std::string Improvement::exhaustedText() const {
  return history.metric + " has not improved in " +
         plural(history.waited, "epoch");
}

} // namespace lwcc::rt::train

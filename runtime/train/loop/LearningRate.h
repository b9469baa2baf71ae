//===- LearningRate.h - The learning rate of a step -------------*- C++ -*-===//
//
// With t = epoch and s = step, both counted from 0 over the whole training:
//
//   warm-up    t < warmupEpochs:  warmupLr + t * (lr - warmupLr) / warmupEpochs
//              s < warmupSteps:   warmupLr + s * (lr - warmupLr) / warmupSteps
//   constant   lr
//   step       lr * decayRate ^ floor(t / decayEpochs)
//   multistep  lr * decayRate ^ (number of milestones that are at most t)
//   cosine     minLr + (lr - minLr) / 2 * (1 + cos(pi * t / epochs));
//              minLr from t = epochs on
//   onecycle   from lr / divFactor up to lr at s = pctStart * steps - 1, then
//              down to lr / divFactor / finalDivFactor at s = steps - 1, each
//              half a cosine
//   plateau    lr; with every fall the larger of minLr and decayRate times what
//              it was, unless that is less than 1e-8 below
//
// These are PyTorch's StepLR, MultiStepLR, CosineAnnealingLR, OneCycleLR (with
// cycle_momentum=False: the momentum stays) and ReduceLROnPlateau. As in timm
// (warmup_prefix off), warm-up replaces the first epochs or steps of the curve;
// it does not shift it.
//
// When a plateau's rate falls is Improvement.h's business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H
#define LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H

#include "runtime/train/loop/Options.h"

#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

struct LearningRate {
  enum Kind { constant, step, multistep, cosine, onecycle, plateau };
  Kind kind = constant;
  double lr = 0.01;
  double minLr = 0;
  double warmupLr = 1e-5;
  int64_t warmupEpochs = 0;
  int64_t warmupSteps = 0;
  int64_t decayEpochs = 90;
  double decayRate = 0.1;
  std::vector<double> milestones; ///< epochs
  double pctStart = 0.3;
  double divFactor = 25;
  double finalDivFactor = 1e4;
  int64_t epochs = 1; ///< length of the cosine
  int64_t steps = 1;  ///< length of the cycle

  /// A moment of the training.
  struct Moment {
    int64_t epoch = 0;
    int64_t step = 0;
    int64_t falls = 0; ///< of a plateau's learning rate, before it
  };
  double at(const Moment &moment) const;
};

/// What the options say, for curves of so many epochs and steps.
LearningRate learningRateOf(const Options &options, int64_t epochs,
                            int64_t steps);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H

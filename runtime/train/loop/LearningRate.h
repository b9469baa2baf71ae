//===- LearningRate.h - The learning rate of an epoch -----------*- C++ -*-===//
//
// The schedulers of timm (github.com/huggingface/pytorch-image-models), stepped
// once per epoch, with t = epoch counted from 0:
//
//   warm-up    t < warmupEpochs:  warmupLr + t * (lr - warmupLr) / warmupEpochs
//   constant   lr
//   step       lr * decayRate ^ floor(t / decayEpochs)
//   cosine     minLr + (lr - minLr) / 2 * (1 + cos(pi * t / epochs));
//              minLr from t = epochs on
//
// As in timm (warmup_prefix off), warm-up replaces the first epochs of the
// curve; it does not shift it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H
#define LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H

#include <cstdint>

namespace lwcc::rt::train {

struct LearningRate {
  enum Kind { constant, step, cosine };
  Kind kind = constant;
  double lr = 0.01;
  double minLr = 0;
  double warmupLr = 1e-5;
  int64_t warmupEpochs = 0;
  int64_t decayEpochs = 90;
  double decayRate = 0.1;
  int64_t epochs = 1; ///< length of the cosine

  double at(int64_t epoch) const;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_LEARNINGRATE_H

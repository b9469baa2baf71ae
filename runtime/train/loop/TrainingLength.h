//===- TrainingLength.h - How long a training is ----------------*- C++ -*-===//
//
// From --epochs, --steps, the data and where a training starts: which step is
// the last one, and over how many steps a learning rate's curve goes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_TRAININGLENGTH_H
#define LWCC_RUNTIME_TRAIN_LOOP_TRAININGLENGTH_H

#include "runtime/train/loop/Options.h"
#include "runtime/train/state/Checkpoint.h"

#include <cstdint>

namespace lwcc::rt::train {

struct TrainingLength {
  int64_t perEpoch = 0; ///< steps
  int64_t epochs = 0;
  int64_t firstBatch = 0; ///< of the epoch in which it starts
  int64_t firstEpoch = 0;
  int64_t steps = 0; ///< done when it ends, those before the start included
  /// All steps of --epochs, also where --steps ends it before; without --epochs
  /// those of --steps.
  int64_t curve = 0;

  /// Throws Error: more steps than can be counted.
  TrainingLength(const Options &options, const TrainState &start,
                 int64_t images, int64_t batch);
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_TRAININGLENGTH_H

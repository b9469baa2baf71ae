//===- Improvement.h - Whether a training still gets better -----*- C++ -*-===//
//
// Follows one number of the validations at the ends of epochs (--best): which
// epoch is the best so far, and how many have passed since. A loss is better if
// it is lower, an accuracy if it is higher; equal is not better, and neither is
// what is no number. With a patience of N a training ends at the N-th
// validation in a row that is not better, as Keras and Lightning count it.
//
// A learning rate on a plateau falls as PyTorch's ReduceLROnPlateau lets it,
// with its threshold: relative, 1e-4, without a cooldown.
//
// What it knows stands in the training's state, so that a checkpoint has it.
// Decides neither when to validate nor what is saved (Trainer.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_IMPROVEMENT_H
#define LWCC_RUNTIME_TRAIN_LOOP_IMPROVEMENT_H

#include "runtime/train/loop/Evaluate.h"
#include "runtime/train/loop/Options.h"
#include "runtime/train/state/Checkpoint.h"

#include <string>

namespace lwcc::rt::train {

/// The number that is followed, by its name in the log: --best, or the loss.
std::string followedMetric(const Options &options);

class Improvement {
public:
  /// `state` outlives this. What it knows of another metric is forgotten.
  Improvement(const Options &options, TrainState &state);

  /// Counts the validation of the step and epoch that the state is at. Returns
  /// whether it is the best so far.
  bool add(const Evaluation &evaluation);
  /// Whether the validation of the state's step was counted.
  bool isCounted() const { return history.step == state.step; }
  /// Whether as many validations as the patience allows were not better.
  bool isExhausted() const;
  bool hasBest() const { return history.bestEpoch > 0; }
  /// "val_loss 0.0355, of epoch 5"
  std::string bestText() const;
  /// "val_loss has not improved in 3 epochs"
  std::string exhaustedText() const;

private:
  void addToPlateau(double value, bool lowerIsBetter);

  const Options &options;
  const TrainState &state;
  ValidationHistory &history;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_IMPROVEMENT_H

//===- Evaluate.h - Loss and accuracy on data not learned -------*- C++ -*-===//
//
// One pass over a validation set with the program's `evaluate` sequence:
// running statistics, no dropout. The mean loss weighs each batch by its labels
// that count, which is exact for a loss that is a mean over them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_EVALUATE_H
#define LWCC_RUNTIME_TRAIN_LOOP_EVALUATE_H

#include "runtime/train/loop/StepQueue.h"

#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt::train {

struct Evaluation {
  int64_t images = 0;
  int64_t labels = 0; ///< that count; as many as images where each has one
  double loss = 0;
  int64_t top1 = 0, top5 = 0;         ///< correct labels
  std::vector<SkippedSample> skipped; ///< which are not in `images`

  double top1Fraction() const { return labels ? double(top1) / labels : 0; }
  double top5Fraction() const { return labels ? double(top5) / labels : 0; }
  /// "loss 0.1234  top-1 98.99 %  (297 images)", with top-5 where the model has
  /// more classes than that.
  std::string text(const Program &program) const;
};

/// `queue` is empty; `loader` delivers the set from its first batch. Stops
/// early, with what it has, when `stop` says so. `each` sees every batch, in
/// order, before it is released.
Evaluation
evaluate(StepQueue &queue, Sequence *sequence, BatchLoader &loader,
         const std::function<bool()> &stop,
         const std::function<void(const StepResult &)> &each = nullptr);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_EVALUATE_H

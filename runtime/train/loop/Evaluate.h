//===- Evaluate.h - Loss and accuracy on data not learned -------*- C++ -*-===//
//
// One pass over a validation set with the program's `evaluate` sequence:
// running statistics, no dropout. The mean loss weighs each batch by its labels
// that count, which is exact for a loss that is a mean over them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_EVALUATE_H
#define LWCC_RUNTIME_TRAIN_LOOP_EVALUATE_H

#include "runtime/train/files/Json.h"
#include "runtime/train/loop/StepQueue.h"

#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt::train {

struct Evaluation {
  int64_t images = 0;
  int64_t labels = 0; ///< that count; as many as images where each has one
  double loss = 0;
  double first = 0, second = 0;       ///< sums of what is counted (Metric.h)
  std::vector<SkippedSample> skipped; ///< which are not in `images`

  double firstMean() const { return labels ? first / double(labels) : 0; }
  double secondMean() const { return labels ? second / double(labels) : 0; }
  /// "loss 0.1234  top-1 98.99 %  (297 images)", with top-5 where the model has
  /// more classes than that; or "loss 0.1234  mae 0.2  rmse 0.3  (297 images)".
  std::string text(const Program &program) const;
  /// Adds val_loss, val_top1 or what else is counted, and val_images.
  void addTo(JsonObject &record, const Program &program) const;
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

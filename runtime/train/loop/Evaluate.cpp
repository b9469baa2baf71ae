//===- Evaluate.cpp - Loss and accuracy on data that is not learned -------===//

#include "runtime/train/loop/Evaluate.h"

#include <iterator>
#include <utility>

namespace lwcc::rt::train {

Evaluation evaluate(StepQueue &queue, Sequence *sequence, BatchLoader &loader,
                    const std::function<bool()> &stop) {
  Evaluation total;
  auto retire = [&] {
    StepResult result = queue.retire();
    std::vector<SkippedSample> &skipped = result.batch->skipped;
    int64_t images = static_cast<int64_t>(result.batch->images.size()) -
                     static_cast<int64_t>(skipped.size());
    total.images += images;
    if (images > 0) // else the mean over none
      total.loss += double(result.loss) * images;
    std::move(skipped.begin(), skipped.end(),
              std::back_inserter(total.skipped));
    total.top1 += result.top1;
    total.top5 += result.top5;
    loader.release(*result.batch);
  };
  for (int64_t i = 0; i < loader.batchesPerEpoch() && !stop(); ++i) {
    queue.launch(sequence, loader.next(), StepScalars());
    while (queue.mustRetire())
      retire();
  }
  while (!queue.empty())
    retire();
  if (total.images)
    total.loss /= total.images;
  return total;
}

} // namespace lwcc::rt::train

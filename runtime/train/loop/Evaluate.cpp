//===- Evaluate.cpp - Loss and accuracy on data that is not learned -------===//

#include "runtime/train/loop/Evaluate.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/report/Info.h"

#include <iterator>
#include <utility>

namespace lwcc::rt::train {

std::string Evaluation::text(const Program &program) const {
  std::string text =
      format("loss %.4f  top-1 %.2f %%", loss, 100 * top1Fraction());
  if (program.classes > 5)
    text += format("  top-5 %.2f %%", 100 * top5Fraction());
  return text + "  (" + plural(images, sampleNoun(program)) + ")";
}

Evaluation evaluate(StepQueue &queue, Sequence *sequence, BatchLoader &loader,
                    const std::function<bool()> &stop,
                    const std::function<void(const StepResult &)> &each) {
  Evaluation total;
  auto retire = [&] {
    StepResult result = queue.retire();
    if (each)
      each(result);
    std::vector<SkippedSample> &skipped = result.batch->skipped;
    int64_t images = static_cast<int64_t>(result.batch->images.size()) -
                     static_cast<int64_t>(skipped.size());
    total.images += images;
    const int64_t labels = result.batch->labelCount;
    total.labels += labels;
    if (labels > 0) // else the mean over none
      total.loss += double(result.loss) * labels;
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
  if (total.labels)
    total.loss /= total.labels;
  return total;
}

} // namespace lwcc::rt::train

//===- Evaluate.cpp - Loss and accuracy on data that is not learned -------===//

#include "runtime/train/loop/Evaluate.h"

#include "runtime/train/files/Text.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/report/Metric.h"

#include <iterator>
#include <utility>

namespace lwcc::rt::train {

std::string Evaluation::text(const Program &program) const {
  const Metric metric = metricOf(program);
  std::string text = format("loss %.4f  ", loss) + metric.text(firstMean());
  if (!metric.isFraction || program.classes > 5)
    text += metric.secondText(secondMean());
  return text + "  (" + plural(images, sampleNoun(program)) + ")";
}

void Evaluation::addTo(JsonObject &record, const Program &program) const {
  const Metric metric = metricOf(program);
  record.add("val_loss", loss).add("val_" + metric.key, firstMean());
  if (!metric.second.empty())
    record.add("val_" + metric.second, metric.secondValue(secondMean()));
  record.add("val_images", images);
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
    total.first += result.first;
    total.second += result.second;
    loader.release(*result.batch);
  };
  for (int64_t i = 0; i < loader.batchesPerEpoch() && !stop(); ++i) {
    // What a model draws at random (not dropout, which is gone) differs from
    // batch to batch, and is the same whenever the set is evaluated.
    StepScalars scalars;
    scalars.step = static_cast<uint32_t>(i + 1);
    queue.launch(sequence, loader.next(), scalars);
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

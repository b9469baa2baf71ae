//===- TrainingLength.cpp - How long a training is ------------------------===//

#include "runtime/train/loop/TrainingLength.h"

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/data/DataOrder.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace lwcc::rt::train {

TrainingLength::TrainingLength(const Options &options, const TrainState &start,
                               int64_t images, int64_t batch)
    : perEpoch(batchesOf(images, batch, options.lastBatch == "keep")) {
  assert(perEpoch > 0 && "fewer images than a batch");
  epochs = options.epochs;
  if (epochs < 0)
    epochs =
        options.steps < 0
            ? 1
            : std::max<int64_t>(1, (options.steps + perEpoch - 1) / perEpoch);
  // Another batch size or other data than the checkpoint's: the epoch goes on
  // at the nearest batch before.
  firstEpoch = start.epoch;
  firstBatch = start.position / batch;
  if (firstBatch >= perEpoch) {
    firstBatch = 0;
    ++firstEpoch;
  }
  auto all = checkedProduct(epochs, perEpoch);
  auto before = checkedProduct(firstEpoch, perEpoch);
  if (before)
    before = checkedSum(*before, firstBatch);
  int64_t remaining = -1;
  if (all && before)
    remaining = std::max<int64_t>(0, *all - *before);
  if (remaining >= 0 && options.steps >= 0)
    remaining = std::clamp<int64_t>(options.steps - start.step, 0, remaining);
  steps = start.step + remaining;
  curve = options.epochs < 0 && options.steps >= 0 ? options.steps
                                                   : all.value_or(0);
  constexpr int64_t most = std::numeric_limits<uint32_t>::max();
  if (remaining < 0 || steps > most)
    throw Error(format("%s epochs of %s are more than the %s steps that can be "
                       "counted; fewer --epochs, or --steps, end before",
                       countText(epochs).c_str(),
                       plural(perEpoch, "step").c_str(),
                       countText(most).c_str()));
}

} // namespace lwcc::rt::train

//===- Transform.h - From an image to the model's input ---------*- C++ -*-===//
//
// From a sample as its source has it to the floats of the model's input,
// [c, h, w]: grey to colour (the plane is repeated), bilinear resize to the
// model's height and width, then (x - mean) / std per channel. Resize is
// PyTorch's interpolate(mode="bilinear", align_corners=False, antialias=False):
// source = max(0, (target + 0.5) * in/out - 0.5), clamped at the far edge.
//
// A model whose input is not [n, c, h, w] takes an image or a row of features
// with exactly as many numbers, in their order.
//
// A transform is a function of the sample and its key. What it may draw at
// random depends on the key alone, never on the thread, the batch or the time,
// so that a training is the same with any number of workers and after a resume.
// Nothing is drawn yet.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H
#define LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H

#include "runtime/train/data/DataSource.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// Which sample of a training: its number in the source, and when it comes.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0; ///< from 0
  int64_t index = 0; ///< in the source
};

class Transform {
public:
  /// `mean` and `std` have no element, one for all channels, or one each.
  /// Throws Error where an image of this format cannot become the input.
  Transform(const SampleFormat &from, const std::vector<int64_t> &to,
            std::vector<double> mean, std::vector<double> std);

  /// `out` row-major. Any thread may call it.
  void apply(const Sample &sample, const SampleKey &key, float *out) const;

  /// "resized to 224x224, repeated to 3 channels", or "".
  std::string describe() const;

private:
  /// Where an output coordinate reads: near * (1 - far) + next * far.
  struct Tap {
    int64_t near, next;
    float far;
  };
  static std::vector<Tap> tapsOf(int64_t in, int64_t out);
  void resize(const Sample &sample, int64_t channel, float *out) const;
  /// Whether one plane stands for all channels.
  bool repeats() const { return from.image && from.channels != to.channels; }

  SampleFormat from, to;
  std::vector<Tap> rows, columns; ///< empty: no resize
  std::vector<float> mean, deviation;
};

/// Images and how they become the model's input.
struct DataSet {
  std::unique_ptr<DataSource> source;
  Transform transform;

  std::string describe() const;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H

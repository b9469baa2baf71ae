//===- Transform.h - From an image to the model's input ---------*- C++ -*-===//
//
// From a sample as its source has it to the floats of the model's input,
// [c, h, w]: grey to colour (the plane is repeated), then the part of the image
// that is seen, in the model's size, then (x - mean) / std per channel.
//
// What is seen is torchvision's usual transform for evaluation: Resize and
// CenterCrop, antialiased (Resample.h). An image is resized, as it is, until it
// covers the model's height and width divided by `cropPart`; of that the centre
// is taken. 256 and 224 of torchvision are a part of 0.875; with 1 nothing of
// the shorter side is lost, and an image of the model's size stays as it is.
//
// A model whose input is not [n, c, h, w] takes an image or a row of features
// with exactly as many numbers, in their order.
//
// A training may see another part each time, mirrored, turned, changed in
// several ways (RandAugment.h), in other colours, and with a rectangle of zeros
// in it, of what is normalized (Augment.h).
//
// A transform is a function of the sample and its key. What it draws at random
// depends on the key alone, never on the thread, the batch or the time, so that
// a training is the same with any number of workers and after a resume.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H
#define LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H

#include "runtime/train/data/Augment.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Resample.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::rt::train {

class Transform {
public:
  /// `from` may leave the size open (SampleFormat::hasSize). `mean` and `std`
  /// have no element, one for all channels, or one each. Throws Error where an
  /// image of this format cannot become the input, or be augmented.
  Transform(const SampleFormat &from, const std::vector<int64_t> &to,
            std::vector<double> mean, std::vector<double> std,
            double cropPart = 1, Augmentation augmentation = {});

  /// `out` row-major. Any thread may call it.
  void apply(const Sample &sample, const SampleKey &key, float *out) const;

  /// "resized to 224x224, repeated to 3 channels", or "".
  std::string describe() const;

private:
  /// The part of an image that is seen.
  struct View {
    AxisView rows, columns;
  };
  void changeAsBytes(const SampleKey &key, float *out) const;
  void normalize(float *out) const;
  View centreOf(int64_t height, int64_t width) const;
  View viewOf(const Crop &crop) const;
  static bool isWhole(const View &view, const SampleFormat &image);
  /// Whether one plane stands for all channels.
  bool repeats() const { return from.image && from.channels != to.channels; }

  SampleFormat from, to;
  bool seen; ///< an image that becomes an image
  double cropPart;
  Augmentation augmentation;
  /// Of images that all have one size and are not cropped at random.
  AxisTaps rows, columns;
  std::vector<float> mean, deviation;
};

/// Images and how they become the model's input.
struct DataSet {
  std::unique_ptr<DataSource> source;
  std::vector<Transform> transforms; ///< of each of its parts

  std::string describe() const;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H

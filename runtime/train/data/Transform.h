//===- Transform.h - From an image to the model's input ---------*- C++ -*-===//
//
// Grey to colour (the plane is repeated), bilinear resize to the model's
// height and width, then (x - mean) / std per channel. Resize is PyTorch's
// interpolate(mode="bilinear", align_corners=False, antialias=False):
// source = max(0, (target + 0.5) * in/out - 0.5), clamped at the far edge.
//
// A model whose input is not [n, c, h, w] takes an image or a row of features
// with exactly as many numbers, in their order.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H
#define LWCC_RUNTIME_TRAIN_DATA_TRANSFORM_H

#include "runtime/train/data/DataSource.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::rt::train {

class Transform {
public:
  /// `mean` and `std` have no element, one for all channels, or one each.
  /// Throws Error where an image of this format cannot become the input.
  Transform(const ImageFormat &from, const std::vector<int64_t> &to,
            std::vector<double> mean, std::vector<double> std);

  /// `in` as DataSource::read writes it; `out` row-major.
  void apply(const float *in, float *out) const;

  /// "resized to 224x224, repeated to 3 channels", or "".
  std::string describe() const;

private:
  /// Where an output coordinate reads: near * (1 - far) + next * far.
  struct Tap {
    int64_t near, next;
    float far;
  };
  static std::vector<Tap> tapsOf(int64_t in, int64_t out);
  void resize(const float *in, float *out) const;

  ImageFormat from, to;
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

//===- Resample.h - A part of a picture in another size ---------*- C++ -*-===//
//
// Pillow's resize with the bilinear filter (libImaging/Resample.c), which is
// torchvision's with antialias: when a picture gets smaller, a pixel is the
// mean of all that it covers, weighted by a triangle. Where it gets larger this
// is interpolate(mode="bilinear", align_corners=False). Computed in floats;
// Pillow rounds pictures of bytes after each of the two passes. Here rows come
// first, of which the sums are as long as they are stored, with all channels.
//
// Which part of a picture is taken is decided by Transform.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_RESAMPLE_H
#define LWCC_RUNTIME_TRAIN_DATA_RESAMPLE_H

#include "runtime/train/data/Sample.h"

#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

/// Along one side: elements [begin, begin + length) become `scaled`, of which
/// [first, first + count) are wanted.
struct AxisView {
  int64_t begin = 0, length = 1;
  int64_t scaled = 1;
  int64_t first = 0, count = 1;

  bool operator==(const AxisView &) const = default;
  bool isWhole(int64_t in) const { return *this == AxisView{0, in, in, 0, in}; }
};

/// Which elements make an output, and with what weight.
class AxisTaps {
public:
  AxisTaps() = default;
  explicit AxisTaps(const AxisView &view);

  int64_t outputs() const { return int64_t(first.size()); }
  /// All that any output reads.
  int64_t low() const { return first.front(); }
  int64_t high() const { return first.back() + width; }
  int64_t firstOf(int64_t output) const { return first[output]; }
  const float *weightsOf(int64_t output) const {
    return &weights[output * width];
  }
  /// Of each output; 0 where it reads less.
  int64_t taps() const { return width; }

private:
  std::vector<int64_t> first;
  int64_t width = 0;
  std::vector<float> weights;
};

/// All channels of a sample, each rows.outputs() x columns.outputs(), in
/// planes.
void resample(const Sample &sample, const AxisTaps &rows,
              const AxisTaps &columns, float *out);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_RESAMPLE_H

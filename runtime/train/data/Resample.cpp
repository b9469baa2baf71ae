//===- Resample.cpp - A part of a picture in another size -----------------===//

#include "runtime/train/data/Resample.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

AxisTaps::AxisTaps(const AxisView &view) : first(view.count) {
  // precompute_coeffs of libImaging/Resample.c, for the filter of radius 1.
  const double scale = double(view.length) / double(view.scaled);
  const double radius = std::max(scale, 1.0);
  width =
      std::min(view.length, 2 * static_cast<int64_t>(std::ceil(radius)) + 1);
  weights.assign(view.count * width, 0.0f);
  for (int64_t i = 0; i < view.count; ++i) {
    const double centre = (double(view.first + i) + 0.5) * scale;
    int64_t low = static_cast<int64_t>(centre - radius + 0.5);
    int64_t high = static_cast<int64_t>(centre + radius + 0.5);
    low = std::max<int64_t>(low, 0);
    high = std::min(high, view.length);
    // All outputs have as many taps; the last ones begin earlier for it.
    const int64_t start = std::min(low, view.length - width);
    first[i] = view.begin + start;
    double sum = 0;
    auto weightAt = [&](int64_t at) {
      return std::max(0.0, 1 - std::abs((double(at) - centre + 0.5) / radius));
    };
    for (int64_t at = low; at < high; ++at)
      sum += weightAt(at);
    for (int64_t at = low; at < high; ++at)
      weights[i * width + at - start] = static_cast<float>(weightAt(at) / sum);
  }
}

void resample(const Sample &sample, int64_t channel, const AxisTaps &rows,
              const AxisTaps &columns, float *out) {
  // Rows first become as short as they will be.
  const int64_t outWidth = columns.outputs();
  const int64_t top = rows.low(), bottom = rows.high();
  const int64_t left = columns.low(), width = columns.high() - left;
  std::vector<float> row(width);
  std::vector<float> narrow((bottom - top) * outWidth);
  for (int64_t y = top; y < bottom; ++y) {
    readChannel(sample, channel, y * sample.format.width + left, width,
                row.data());
    float *to = &narrow[(y - top) * outWidth];
    for (int64_t x = 0; x < outWidth; ++x) {
      const float *from = &row[columns.firstOf(x) - left];
      const float *weights = columns.weightsOf(x);
      float sum = 0;
      for (int64_t t = 0; t < columns.taps(); ++t)
        sum += weights[t] * from[t];
      to[x] = sum;
    }
  }
  for (int64_t y = 0; y < rows.outputs(); ++y, out += outWidth) {
    const float *from = &narrow[(rows.firstOf(y) - top) * outWidth];
    const float *weights = rows.weightsOf(y);
    std::fill_n(out, outWidth, 0.0f);
    for (int64_t t = 0; t < rows.taps(); ++t)
      for (int64_t x = 0; x < outWidth; ++x)
        out[x] += weights[t] * from[t * outWidth + x];
  }
}

} // namespace lwcc::rt::train

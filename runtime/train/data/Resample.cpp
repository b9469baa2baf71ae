//===- Resample.cpp - A part of a picture in another size -----------------===//

#include "runtime/train/data/Resample.h"

#include "runtime/core/Clones.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

namespace {
/// The rows that outputs read, as floats: as many as one reads, in a ring.
class RowRing {
public:
  /// Of each row `count` elements from number `begin` on, the next row `pitch`
  /// later.
  RowRing(const Sample &sample, int64_t begin, int64_t count, int64_t pitch,
          int64_t capacity)
      : sample(sample), begin(begin), count(count), pitch(pitch),
        capacity(capacity), values(capacity * count) {}

  /// Row `y`; never one that is `capacity` before another one that was asked
  /// for.
  const float *row(int64_t y) {
    for (next = std::max(next, y); next <= y; ++next)
      readElements(sample, begin + next * pitch, count, slot(next));
    return slot(y);
  }

private:
  float *slot(int64_t y) { return &values[y % capacity * count]; }

  const Sample &sample;
  int64_t begin, count, pitch, capacity, next = 0;
  std::vector<float> values;
};
} // namespace

LWCC_CLONES static void addScaled(float *__restrict sums, const float *row,
                                  float weight, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += weight * row[i];
}

using Four = float __attribute__((vector_size(16)));

/// A row of `beside` channels, interleaved, becomes a row of each of as many
/// planes. `columns` count from `left`. Channels are summed four at a time, the
/// last ones with what follows them: three floats behind the row are read.
static void narrow(const AxisTaps &columns, int64_t left, int64_t beside,
                   const float *row, float *out, int64_t plane) {
  for (int64_t c = 0; c < beside; c += 4)
    for (int64_t x = 0; x < columns.outputs(); ++x) {
      const float *from = row + (columns.firstOf(x) - left) * beside + c;
      const float *weights = columns.weightsOf(x);
      Four sums = {};
      for (int64_t t = 0; t < columns.taps(); ++t, from += beside) {
        Four values;
        std::memcpy(&values, from, sizeof values);
        sums += weights[t] * values;
      }
      for (int64_t i = 0; i < std::min<int64_t>(4, beside - c); ++i)
        out[(c + i) * plane + x] = sums[i];
    }
}

void resample(const Sample &sample, const AxisTaps &rows,
              const AxisTaps &columns, float *out) {
  const SampleFormat &format = sample.format;
  const bool pixels = format.layout == SampleLayout::pixels;
  const int64_t beside = pixels ? format.channels : 1;
  const int64_t left = columns.low();
  const int64_t elements = (columns.high() - left) * beside;
  const int64_t plane = rows.outputs() * columns.outputs();
  std::vector<float> sums(elements + 3);
  for (int64_t c = 0; c < format.channels; c += beside) {
    RowRing ring(sample, c * format.height * format.width + left * beside,
                 elements, format.width * beside, rows.taps());
    for (int64_t y = 0; y < rows.outputs(); ++y) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t t = 0; t < rows.taps(); ++t)
        addScaled(sums.data(), ring.row(rows.firstOf(y) + t),
                  rows.weightsOf(y)[t], elements);
      narrow(columns, left, beside, sums.data(),
             out + c * plane + y * columns.outputs(), plane);
    }
  }
}

} // namespace lwcc::rt::train

//===- Augment.cpp - What differs each time a picture is seen -------------===//

#include "runtime/train/data/Augment.h"

#include "runtime/core/Philox.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

/// One number for the mirror, and four for each of ten tries.
static double draw(const SampleKey &key, int number) {
  constexpr int blocksOfOne = 16;
  const auto block = static_cast<uint64_t>(key.index) * blocksOfOne +
                     static_cast<uint64_t>(number / 4);
  const Philox4 bits = philox(key.seed, block, streamOf("augmentation"),
                              static_cast<uint32_t>(key.epoch));
  return uniformOf(bits.v[number % 4]);
}

bool Augmentation::flips(const SampleKey &key) const {
  return draw(key, 0) < flip;
}

/// Python's round: halves to the even number.
static int64_t rounded(double value) {
  return static_cast<int64_t>(std::nearbyint(value));
}

Crop Augmentation::crop(const SampleKey &key, int64_t height,
                        int64_t width) const {
  constexpr int tries = 10;
  const auto between = [](double low, double high, double part) {
    return low + part * (high - low);
  };
  const double area = double(height) * double(width);
  for (int i = 0; i < tries; ++i) {
    const int first = 4 + 4 * i;
    const double wanted = area * between(scale[0], scale[1], draw(key, first));
    const double shape = std::exp(
        between(std::log(ratio[0]), std::log(ratio[1]), draw(key, first + 1)));
    const int64_t wide = rounded(std::sqrt(wanted * shape)),
                  tall = rounded(std::sqrt(wanted / shape));
    if (wide <= 0 || tall <= 0 || wide > width || tall > height)
      continue;
    const auto below = [](int64_t count, double part) {
      return static_cast<int64_t>(part * double(count));
    };
    return {below(height - tall + 1, draw(key, first + 2)),
            below(width - wide + 1, draw(key, first + 3)), tall, wide};
  }
  int64_t wide = width, tall = height;
  const double shape = double(width) / double(height);
  if (shape < ratio[0])
    tall = std::max<int64_t>(1, rounded(double(width) / ratio[0]));
  else if (shape > ratio[1])
    wide = std::max<int64_t>(1, rounded(double(height) * ratio[1]));
  return {(height - tall) / 2, (width - wide) / 2, tall, wide};
}

} // namespace lwcc::rt::train

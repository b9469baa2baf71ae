//===- Augment.cpp - What differs each time a picture is seen -------------===//

#include "runtime/train/data/Augment.h"

#include "runtime/core/Philox.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

static constexpr int tries = 10;
/// Of the stream "augmentation": both mirrors, four for each try, the order of
/// the colours' steps, what each does.
static constexpr int firstOfTries = 4, firstOfOrder = firstOfTries + 4 * tries,
                     firstOfColours = firstOfOrder + 4;

static double draw(const SampleKey &key, int number,
                   const char *stream = "augmentation") {
  constexpr int blocksOfOne = 16;
  static_assert(firstOfColours + 4 <= 4 * blocksOfOne &&
                mostChanges <= blocksOfOne);
  const auto block = static_cast<uint64_t>(key.index) * blocksOfOne +
                     static_cast<uint64_t>(number / 4);
  const Philox4 bits = philox(key.seed, block, streamOf(stream),
                              static_cast<uint32_t>(key.epoch));
  return uniformOf(bits.v[number % 4]);
}

static double between(double low, double high, double part) {
  return low + part * (high - low);
}

static int64_t below(int64_t count, double part) {
  return static_cast<int64_t>(part * double(count));
}

bool Augmentation::flips(const SampleKey &key) const {
  return draw(key, 0) < flip;
}

bool Augmentation::flipsVertically(const SampleKey &key) const {
  return draw(key, 1) < verticalFlip;
}

/// Python's round: halves to the even number.
static int64_t rounded(double value) {
  return static_cast<int64_t>(std::nearbyint(value));
}

Crop Augmentation::crop(const SampleKey &key, int64_t height,
                        int64_t width) const {
  const double area = double(height) * double(width);
  for (int i = 0; i < tries; ++i) {
    const int first = firstOfTries + 4 * i;
    const double wanted = area * between(scale[0], scale[1], draw(key, first));
    const double shape = std::exp(
        between(std::log(ratio[0]), std::log(ratio[1]), draw(key, first + 1)));
    const int64_t wide = rounded(std::sqrt(wanted * shape)),
                  tall = rounded(std::sqrt(wanted / shape));
    if (wide <= 0 || tall <= 0 || wide > width || tall > height)
      continue;
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

ColourChange Augmentation::colours(const SampleKey &key) const {
  ColourChange change;
  std::array<double, colourSteps> places{};
  for (size_t i = 0; i < colourSteps; ++i) {
    change.order[i] = static_cast<ColourStep>(i);
    places[i] = draw(key, firstOfOrder + int(i));
  }
  std::stable_sort(change.order.begin(), change.order.end(),
                   [&](ColourStep a, ColourStep b) {
                     return places[size_t(a)] < places[size_t(b)];
                   });
  const auto most = [&](size_t step) {
    const bool isHue = step == size_t(ColourStep::hue);
    if (colour.size() == 1)
      return isHue ? 0.0 : colour[0];
    return step < colour.size() ? colour[step] : 0.0;
  };
  for (size_t i = 0; i < colourSteps; ++i) {
    const double part = draw(key, firstOfColours + int(i)), range = most(i);
    change.amount[i] = static_cast<float>(
        i == size_t(ColourStep::hue)
            ? between(-range, range, part)
            : between(std::max(0.0, 1 - range), 1 + range, part));
  }
  return change;
}

double Augmentation::angle(const SampleKey &key) const {
  return between(-rotate, rotate, draw(key, 0, "rotation"));
}

std::vector<DrawnChange> Augmentation::changes(const SampleKey &key) const {
  std::vector<DrawnChange> drawn;
  const int count = randAugment.empty() ? 0 : static_cast<int>(randAugment[0]);
  for (int i = 0; i < count; ++i)
    drawn.push_back({static_cast<PictureChange>(below(
                         pictureChanges, draw(key, 4 * i, "rand-augment"))),
                     draw(key, 4 * i + 1, "rand-augment") <= 0.5});
  return drawn;
}

std::optional<Crop> Augmentation::erased(const SampleKey &key, int64_t height,
                                         int64_t width) const {
  const auto drawn = [&](int number) { return draw(key, number, "erasing"); };
  if (erase == 0 || drawn(0) >= erase)
    return std::nullopt;
  constexpr double least = 0.02, most = 0.33, flat = 0.3, steep = 3.3;
  const double area = double(height) * double(width);
  for (int i = 0; i < tries; ++i) {
    const int first = 4 + 4 * i;
    const double wanted = area * between(least, most, drawn(first));
    const double shape =
        std::exp(between(std::log(flat), std::log(steep), drawn(first + 1)));
    const int64_t tall = rounded(std::sqrt(wanted * shape)),
                  wide = rounded(std::sqrt(wanted / shape));
    if (tall >= height || wide >= width)
      continue;
    return Crop{below(height - tall + 1, drawn(first + 2)),
                below(width - wide + 1, drawn(first + 3)), tall, wide};
  }
  return std::nullopt;
}

} // namespace lwcc::rt::train

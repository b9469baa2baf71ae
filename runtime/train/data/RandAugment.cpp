//===- RandAugment.cpp - A few strong changes of a picture ----------------===//
//
// Arithmetic is torchvision's, in single precision and in its order, so that
// results are the same bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/RandAugment.h"

#include "runtime/train/data/Distort.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lwcc::rt::train {

namespace {
/// The picture that is changed.
struct Picture {
  uint8_t *pixels;
  int64_t channels, height, width;

  int64_t plane() const { return height * width; }
  int64_t size() const { return channels * plane(); }
};
} // namespace

/// torch.linspace(first, last, mostStrength + 1)[strength].
static float onScale(float first, float last, int64_t strength) {
  const float step = (last - first) / float(mostStrength);
  return strength <= mostStrength / 2 - 1
             ? first + step * float(strength)
             : last - step * float(mostStrength - strength);
}

static uint8_t toByte(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

/// So much of x, and the rest of the other; more than all of x goes beyond it.
static uint8_t blend(uint8_t x, float other, double share) {
  return toByte(std::fma(other, float(1 - share), float(x) * float(share)));
}

/// ITU-R 601, as a whole number.
static float greyAt(const Picture &picture, int64_t i) {
  const uint8_t *at = picture.pixels + i;
  if (picture.channels == 1)
    return *at;
  const int64_t plane = picture.plane();
  return std::floor(
      std::fma(float(at[2 * plane]), 0.114f,
               std::fma(float(at[plane]), 0.587f, float(at[0]) * 0.2989f)));
}

static void brighten(const Picture &picture, double factor) {
  for (uint8_t *x = picture.pixels, *end = x + picture.size(); x != end; ++x)
    *x = toByte(float(*x) * float(factor));
}

static void saturate(const Picture &picture, double factor) {
  if (picture.channels == 1)
    return;
  for (int64_t i = 0; i < picture.plane(); ++i) {
    const float grey = greyAt(picture, i);
    for (int64_t c = 0; c < picture.channels; ++c) {
      uint8_t &x = picture.pixels[c * picture.plane() + i];
      x = blend(x, grey, factor);
    }
  }
}

static void changeContrast(const Picture &picture, double factor) {
  double sum = 0;
  for (int64_t i = 0; i < picture.plane(); ++i)
    sum += greyAt(picture, i);
  const auto mean = static_cast<float>(sum / double(picture.plane()));
  for (uint8_t *x = picture.pixels, *end = x + picture.size(); x != end; ++x)
    *x = blend(*x, mean, factor);
}

/// Against the mean of a pixel and its neighbours, of which it counts five
/// times. The border stays.
static void sharpen(const Picture &picture, double factor) {
  const int64_t width = picture.width, height = picture.height;
  if (width <= 2 || height <= 2)
    return;
  const std::vector<uint8_t> before(picture.pixels,
                                    picture.pixels + picture.size());
  for (int64_t c = 0; c < picture.channels; ++c)
    for (int64_t y = 1; y + 1 < height; ++y)
      for (int64_t x = 1; x + 1 < width; ++x) {
        const int64_t at = c * picture.plane() + y * width + x;
        int sum = 4 * before[at];
        for (int64_t dy : {-width, int64_t(0), width})
          for (int64_t dx : {-1, 0, 1})
            sum += before[at + dy + dx];
        const float blurred = std::nearbyint(float(sum) / 13);
        picture.pixels[at] = toByte(std::fma(
            blurred - float(before[at]), float(1 - factor), float(before[at])));
      }
}

static void posterize(const Picture &picture, int bits) {
  const auto kept = static_cast<uint8_t>(((1 << bits) - 1) << (8 - bits));
  for (uint8_t *x = picture.pixels, *end = x + picture.size(); x != end; ++x)
    *x &= kept;
}

static void solarize(const Picture &picture, double threshold) {
  for (uint8_t *x = picture.pixels, *end = x + picture.size(); x != end; ++x)
    if (*x >= threshold)
      *x = static_cast<uint8_t>(255 - *x);
}

/// Each channel from 0 to 255.
static void stretch(const Picture &picture) {
  for (int64_t c = 0; c < picture.channels; ++c) {
    uint8_t *begin = picture.pixels + c * picture.plane();
    uint8_t *end = begin + picture.plane();
    const auto [least, most] = std::minmax_element(begin, end);
    if (*least == *most)
      continue;
    const auto low = float(*least);
    const float scale = (float(*most) - low) * float(1.0 / 255);
    for (uint8_t *x = begin; x != end; ++x)
      *x = toByte((float(*x) - low) / scale);
  }
}

/// Each channel such that its values are about equally frequent; Pillow's way.
static void equalize(const Picture &picture) {
  for (int64_t c = 0; c < picture.channels; ++c) {
    uint8_t *begin = picture.pixels + c * picture.plane();
    uint8_t *end = begin + picture.plane();
    std::array<int64_t, 256> count{};
    for (uint8_t *x = begin; x != end; ++x)
      ++count[*x];
    const int64_t step =
        (picture.plane() - count[*std::max_element(begin, end)]) / 255;
    if (step == 0)
      continue;
    std::array<uint8_t, 256> table{};
    int64_t before = 0;
    for (size_t value = 0; value < table.size(); ++value) {
      table[value] = value == 0 ? 0
                                : static_cast<uint8_t>(std::min<int64_t>(
                                      (before + step / 2) / step, 255));
      before += count[value];
    }
    for (uint8_t *x = begin; x != end; ++x)
      *x = table[*x];
  }
}

static void change(const DrawnChange &drawn, int64_t strength,
                   const Picture &picture) {
  const auto amount = [&](float most) -> double {
    const float value = onScale(0, most, strength);
    return drawn.negative ? -value : value;
  };
  const auto distorted = [&](const Affine &map) {
    distort(map, picture.pixels, picture.channels, picture.height,
            picture.width);
  };
  // Lengths are parts of the picture's, of 331 pixels as in the paper.
  const auto shift = [&](int64_t length) {
    return std::trunc(amount(float(150.0 / 331.0 * double(length))));
  };
  switch (drawn.change) {
  case PictureChange::identity:
    return;
  case PictureChange::shearX: {
    const double by = amount(0.3f);
    return distorted({1, by, by * double(picture.height) / 2, 0, 1, 0});
  }
  case PictureChange::shearY: {
    const double by = amount(0.3f);
    return distorted({1, 0, 0, by, 1, by * double(picture.width) / 2});
  }
  case PictureChange::translateX:
    return distorted({1, 0, -shift(picture.width), 0, 1, 0});
  case PictureChange::translateY:
    return distorted({1, 0, 0, 0, 1, -shift(picture.height)});
  case PictureChange::rotate:
    return distorted(Affine::rotation(amount(30)));
  case PictureChange::brightness:
    return brighten(picture, 1 + amount(0.9f));
  case PictureChange::colour:
    return saturate(picture, 1 + amount(0.9f));
  case PictureChange::contrast:
    return changeContrast(picture, 1 + amount(0.9f));
  case PictureChange::sharpness:
    return sharpen(picture, 1 + amount(0.9f));
  case PictureChange::posterize:
    return posterize(
        picture,
        int(std::nearbyint(8 - double(strength) / (double(mostStrength) / 4))));
  case PictureChange::solarize:
    return solarize(picture, 255.0 * double(onScale(1, 0, strength)));
  case PictureChange::autoContrast:
    return stretch(picture);
  case PictureChange::equalize:
    return equalize(picture);
  }
}

void changePicture(const std::vector<DrawnChange> &changes, int64_t strength,
                   uint8_t *pixels, int64_t channels, int64_t height,
                   int64_t width) {
  for (const DrawnChange &drawn : changes)
    change(drawn, strength, {pixels, channels, height, width});
}

} // namespace lwcc::rt::train

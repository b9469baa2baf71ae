//===- Colour.cpp - Brightness, contrast, saturation and hue --------------===//

#include "runtime/train/data/Colour.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt::train {

namespace {
struct Rgb {
  float r, g, b;
};
} // namespace

/// ITU-R 601, as Pillow and torchvision have it.
static float greyOf(const Rgb &x) {
  return 0.2989f * x.r + 0.587f * x.g + 0.114f * x.b;
}

static float blend(float x, float other, float amount) {
  return std::clamp(amount * x + (1 - amount) * other, 0.0f, 1.0f);
}

/// Turns the hue by a part of the whole circle. By way of HSV: maximum,
/// relative distance of the minimum, and the angle.
static Rgb turned(const Rgb &x, float turn) {
  const float most = std::max({x.r, x.g, x.b}),
              least = std::min({x.r, x.g, x.b});
  const float range = most - least;
  if (range == 0)
    return x;
  const float saturation = range / most;
  // How far each lies below the maximum.
  const float r = (most - x.r) / range, g = (most - x.g) / range,
              b = (most - x.b) / range;
  float hue = x.r == most ? b - g : x.g == most ? 2 + r - b : 4 + g - r;
  hue = std::fmod(hue / 6 + 1, 1.0f) + turn;
  hue -= std::floor(hue);
  const float sector = std::floor(hue * 6), part = hue * 6 - sector;
  const float p = most * (1 - saturation), q = most * (1 - saturation * part),
              t = most * (1 - saturation * (1 - part));
  switch (static_cast<int>(sector) % 6) {
  case 0:
    return {most, t, p};
  case 1:
    return {q, most, p};
  case 2:
    return {p, most, t};
  case 3:
    return {p, q, most};
  case 4:
    return {t, p, most};
  default:
    return {most, p, q};
  }
}

static void changeContrast(float amount, float *planes, int64_t channels,
                           int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += channels == 1
               ? planes[i]
               : greyOf({planes[i], planes[count + i], planes[2 * count + i]});
  const auto mean = static_cast<float>(sum / static_cast<double>(count));
  for (int64_t i = 0; i < channels * count; ++i)
    planes[i] = blend(planes[i], mean, amount);
}

/// Each pixel by itself.
template <typename Change>
static void changePixels(float *planes, int64_t count, const Change &change) {
  float *r = planes, *g = r + count, *b = g + count;
  for (int64_t i = 0; i < count; ++i) {
    const Rgb changed = change(Rgb{r[i], g[i], b[i]});
    r[i] = changed.r;
    g[i] = changed.g;
    b[i] = changed.b;
  }
}

void changeColours(const ColourChange &change, float *planes, int64_t channels,
                   int64_t count) {
  const bool isGrey = channels == 1;
  for (ColourStep step : change.order) {
    const float amount = change.amount[static_cast<size_t>(step)];
    switch (step) {
    case ColourStep::brightness:
      for (int64_t i = 0; i < channels * count; ++i)
        planes[i] = std::clamp(planes[i] * amount, 0.0f, 1.0f);
      break;
    case ColourStep::contrast:
      changeContrast(amount, planes, channels, count);
      break;
    case ColourStep::saturation:
      if (!isGrey)
        changePixels(planes, count, [&](const Rgb &x) {
          const float grey = greyOf(x);
          return Rgb{blend(x.r, grey, amount), blend(x.g, grey, amount),
                     blend(x.b, grey, amount)};
        });
      break;
    case ColourStep::hue:
      if (!isGrey && amount != 0)
        changePixels(planes, count,
                     [&](const Rgb &x) { return turned(x, amount); });
      break;
    }
  }
}

} // namespace lwcc::rt::train

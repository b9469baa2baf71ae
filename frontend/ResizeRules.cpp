//===- ResizeRules.cpp - Which elements a resized one is made of ----------===//

#include "frontend/ResizeRules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;

/// The place in the old extent that element i of the new one is at; `scale` is
/// new by old.
static double resizedPlace(const ResizeRule &rule, int64_t i, int64_t from,
                           int64_t to, double scale) {
  double x = double(i);
  if (rule.coordinates == "tf_crop_and_resize") {
    const double part =
        to == 1 ? (rule.begin + rule.end) / 2
                : rule.begin + x * (rule.end - rule.begin) / double(to - 1);
    return part * double(from - 1);
  }
  if (rule.coordinates == "asymmetric")
    return x / scale;
  if (rule.coordinates == "align_corners")
    return to == 1 ? 0 : x * double(from - 1) / double(to - 1);
  if (rule.coordinates == "pytorch_half_pixel" && to == 1)
    return 0;
  if (rule.coordinates == "half_pixel_symmetric") {
    // What the rounded extent adds is shared by both ends.
    double adjustment = double(to) / (scale * double(from));
    double center = double(from) / 2;
    return center * (1 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  return (x + 0.5) / scale - 0.5; // half_pixel
}

bool lwcc::isOutside(const ResizeRule &rule, int64_t i, int64_t from,
                     int64_t to, double scale) {
  if (rule.coordinates != "tf_crop_and_resize")
    return false;
  const double place = resizedPlace(rule, i, from, to, scale);
  return !(place >= 0 && place <= double(from - 1));
}

std::vector<int64_t> lwcc::nearestElements(const ResizeRule &rule, int64_t from,
                                           int64_t to, double scale) {
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < to; ++i) {
    double place = resizedPlace(rule, i, from, to, scale);
    double at = rule.rounding == "floor"               ? std::floor(place)
                : rule.rounding == "ceil"              ? std::ceil(place)
                : rule.rounding == "round_prefer_ceil" ? std::floor(place + 0.5)
                                                       : std::ceil(place - 0.5);
    // A box may lie anywhere, and be no number.
    elements.push_back(at >= 0 ? int64_t(std::min(at, double(from - 1))) : 0);
  }
  return elements;
}

/// The weight of an element at a distance from the place.
static double weightAt(const ResizeRule &rule, double distance) {
  double x = std::fabs(distance), a = rule.cubic;
  if (rule.mode == "linear")
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

std::vector<float> lwcc::resizeWeights(const ResizeRule &rule, int64_t from,
                                       int64_t to, double scale) {
  std::vector<float> weights(from * to, 0.0f);
  if (rule.mode == "nearest") {
    for (auto [i, j] : llvm::enumerate(nearestElements(rule, from, to, scale)))
      if (!isOutside(rule, int64_t(i), from, to, scale))
        weights[int64_t(i) * from + j] = 1;
    return weights;
  }
  // Antialiasing widens the window of a smaller result.
  double shrink = rule.antialias ? std::min(scale, 1.0) : 1.0;
  double radius = (rule.mode == "linear" ? 1 : 2) / shrink;
  for (int64_t i = 0; i < to; ++i) {
    if (isOutside(rule, i, from, to, scale))
      continue;
    double place = resizedPlace(rule, i, from, to, scale);
    std::vector<double> row(from, 0.0);
    double sum = 0;
    for (auto j = int64_t(std::floor(place - radius));
         j <= int64_t(std::ceil(place + radius)); ++j) {
      double weight = weightAt(rule, (double(j) - place) * shrink);
      bool outside = j < 0 || j >= from;
      if (outside && rule.excludeOutside)
        continue;
      row[std::clamp<int64_t>(j, 0, from - 1)] += weight;
      sum += weight;
    }
    for (int64_t j = 0; j < from; ++j)
      weights[i * from + j] = float(sum == 0 ? 0 : row[j] / sum);
  }
  return weights;
}

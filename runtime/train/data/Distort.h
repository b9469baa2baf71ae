//===- Distort.h - Rotated, sheared and moved pictures ----------*- C++ -*-===//
//
// Affine maps of a picture onto itself, by the nearest pixel, with zeros where
// nothing comes from: torchvision's affine and rotate for tensors. Which map a
// picture gets is drawn in Augment.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_DISTORT_H
#define LWCC_RUNTIME_TRAIN_DATA_DISTORT_H

#include <cmath>
#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

/// Where a pixel (x, y) comes from: (xx x + xy y + x0, yx x + yy y + y0), both
/// counted from the picture's centre, x to the right and y down.
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;

  /// Turned counter-clockwise.
  static Affine rotation(double degrees);
};

/// `planes` are those of a picture [channels, height, width].
template <typename T>
void distort(const Affine &map, T *planes, int64_t channels, int64_t height,
             int64_t width) {
  const std::vector<T> before(planes, planes + channels * height * width);
  const double right = double(width - 1) / 2, down = double(height - 1) / 2;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const double dx = double(x) - right, dy = double(y) - down;
      // Halves to the even number, as grid_sample has it.
      const double fromX =
          std::nearbyint(map.xx * dx + map.xy * dy + map.x0 + right);
      const double fromY =
          std::nearbyint(map.yx * dx + map.yy * dy + map.y0 + down);
      const bool isInside = fromX >= 0 && fromX < double(width) && fromY >= 0 &&
                            fromY < double(height);
      const int64_t from =
          isInside ? int64_t(fromY) * width + int64_t(fromX) : 0;
      for (int64_t c = 0; c < channels; ++c)
        planes[(c * height + y) * width + x] =
            isInside ? before[c * height * width + from] : T(0);
    }
}

inline Affine Affine::rotation(double degrees) {
  constexpr double halfTurn = 3.14159265358979323846;
  const double angle = degrees / 180 * halfTurn;
  return {std::cos(angle), -std::sin(angle), 0,
          std::sin(angle), std::cos(angle),  0};
}

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_DISTORT_H

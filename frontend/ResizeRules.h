//===- ResizeRules.h - Which elements a resized one is made of --*- C++ -*-===//
//
// ONNX's Resize along one dimension: nearest, linear and cubic, in all
// coordinate modes, with and without antialiasing. A new element is a weighted
// sum of old ones; a dimension at a time, since the weights of several
// dimensions are products.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_RESIZERULES_H
#define LWCC_FRONTEND_RESIZERULES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace lwcc {

struct ResizeRule {
  llvm::StringRef mode = "nearest";                ///< or linear, cubic
  llvm::StringRef coordinates = "half_pixel";      ///< which place is which
  llvm::StringRef rounding = "round_prefer_floor"; ///< of nearest
  double cubic = -0.75;                            ///< the cubic's coefficient
  bool excludeOutside = false, antialias = false;
  /// Of tf_crop_and_resize: the part of the old extent that becomes the new
  /// one. What lies outside of the old extent is made of no element.
  double begin = 0, end = 1;
};

/// Whether element i of the new extent lies outside of the old one.
bool isOutside(const ResizeRule &rule, int64_t i, int64_t from, int64_t to,
               double scale);

/// For mode nearest: the old element that each new one is, also outside.
std::vector<int64_t> nearestElements(const ResizeRule &rule, int64_t from,
                                     int64_t to, double scale);
/// The weights of old elements, `to` rows of `from`; zeros outside.
std::vector<float> resizeWeights(const ResizeRule &rule, int64_t from,
                                 int64_t to, double scale);

} // namespace lwcc

#endif // LWCC_FRONTEND_RESIZERULES_H

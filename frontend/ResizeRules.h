//===- ResizeRules.h - Which elements a resized one is made of --*- C++ -*-===//
//
// ONNX's Resize along one dimension: nearest, linear and cubic, in all
// coordinate modes but that of a cropping box, with and without antialiasing.
// A new element is a weighted sum of old ones; a dimension at a time, since the
// weights of several dimensions are products.
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
};

/// For mode nearest: the old element that each new one is.
std::vector<int64_t> nearestElements(const ResizeRule &rule, int64_t from,
                                     int64_t to, double scale);
/// For linear and cubic: the weights of old elements, `to` rows of `from`.
std::vector<float> resizeWeights(const ResizeRule &rule, int64_t from,
                                 int64_t to, double scale);

} // namespace lwcc

#endif // LWCC_FRONTEND_RESIZERULES_H

//===- LrnBody.h - Local response normalization at one element --*- C++ -*-===//
//
//   scale_c = bias + alpha / size * sum of x_d^2 over d in window(c)
//   y_c     = x_c * scale_c^-beta
//   dx_c    = dy_c * scale_c^-beta
//             - 2 alpha beta / size * x_c * sum of ratio_d over d with c in
//               window(d), ratio_d = dy_d * x_d * scale_d^-(beta + 1)
//
// x and dy point at a pixel's channel 0; channels are neighbours. A CUDA thread
// computes one element and may recompute the ratios; the CPU works on rows of
// channels, with the same operations in the same order (cpu/Lrn.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_LRNBODY_H
#define LWCC_RUNTIME_CORE_LRNBODY_H

#include "runtime/core/HostDevice.h"

#include <cmath>
#include <cstdint>

namespace lwcc::rt {

struct LrnGeometry {
  int channels = 1;
  int below = 2, above = 2; ///< window(c) is [c - below, c + above]
  float alphaOverSize = 0, beta = 0.75f, bias = 1;
};

template <typename Params>
LrnGeometry lrnGeometry(int64_t channels, const Params &params) {
  LrnGeometry g;
  g.channels = static_cast<int>(channels);
  g.below = static_cast<int>((params.size - 1) / 2);
  g.above = static_cast<int>(params.size / 2);
  g.alphaOverSize = params.alpha / static_cast<float>(params.size);
  g.beta = params.beta;
  g.bias = params.bias;
  return g;
}

LWCC_HD float lrnScale(const LrnGeometry &g, const float *x, int c) {
  int from = c - g.below > 0 ? c - g.below : 0;
  int to = c + g.above < g.channels - 1 ? c + g.above : g.channels - 1;
  float sum = 0.0f;
  for (int d = from; d <= to; ++d)
    sum += x[d] * x[d];
  return g.bias + g.alphaOverSize * sum;
}

/// scale^-beta; the usual beta of 0.75 needs only square roots.
LWCC_HD float lrnPower(const LrnGeometry &g, float scale) {
  if (g.beta == 0.75f) {
    float root = ::sqrtf(scale);
    return 1.0f / (root * ::sqrtf(root));
  }
  return ::powf(scale, -g.beta);
}

LWCC_HD float lrnAt(const LrnGeometry &g, const float *x, int c) {
  return x[c] * lrnPower(g, lrnScale(g, x, c));
}

LWCC_HD float lrnRatio(const LrnGeometry &g, const float *dy, const float *x,
                       int c) {
  float scale = lrnScale(g, x, c);
  return dy[c] * x[c] * lrnPower(g, scale) / scale;
}

/// dx from its parts; `sum` is that of the ratios.
LWCC_HD float lrnGradFrom(const LrnGeometry &g, float dy, float x, float power,
                          float sum) {
  return dy * power - 2.0f * g.alphaOverSize * g.beta * x * sum;
}

/// `ratio(d)` returns lrnRatio at channel d.
template <typename Ratio>
LWCC_HD float lrnGradAt(const LrnGeometry &g, const float *dy, const float *x,
                        int c, const Ratio &ratio) {
  int from = c - g.above > 0 ? c - g.above : 0;
  int to = c + g.below < g.channels - 1 ? c + g.below : g.channels - 1;
  float sum = 0.0f;
  for (int d = from; d <= to; ++d)
    sum += ratio(d);
  return lrnGradFrom(g, dy[c], x[c], lrnPower(g, lrnScale(g, x, c)), sum);
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_LRNBODY_H

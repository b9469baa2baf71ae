//===- PoolBody.h - Pooling of a few channels at one pixel ------*- C++ -*-===//
//
// The body of the pooling operators: V neighbouring channels at one output
// pixel (forward) or one input pixel (backward). The CPU runs it with V as wide
// as its vectors, a CUDA thread with 1 or 4. The gradients gather: every input
// pixel is written once, in a fixed order of summation, with no atomics. The
// CPU, which needs no atomics to scatter, adds in the same order
// (cpu/Pooling.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_POOLBODY_H
#define LWCC_RUNTIME_CORE_POOLBODY_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Tensor.h"
#include "runtime/core/Window.h"

#include <cassert>
#include <cmath>
#include <cstdint>

namespace lwcc::rt {

/// Shapes and strides of a pooling operator. `in` is x or dx; `out` is y, dy
/// and the tap indices, which all lie alike.
struct PoolGeometry {
  WindowAxis h, w;
  int images = 1, channels = 1;
  int64_t inImage = 0, inRow = 0, inColumn = 0;
  int64_t outImage = 0, outRow = 0, outColumn = 0;
  bool countPad = false; ///< avg: padding counts in the divisor
};

/// `params` is MaxPoolParams or AvgPoolParams; images are channels-last.
template <typename Params>
PoolGeometry poolGeometry(const Tensor &in, const Tensor &out,
                          const Params &params) {
  assert(in.rank == 4 && out.rank == 4 && "pooling needs rank 4");
  assert(in.stride[1] == 1 && out.stride[1] == 1 && "pooling needs nhwc");
  auto axis = [&](int d) {
    WindowAxis a;
    a.in = static_cast<int>(in.dim[2 + d]);
    a.out = static_cast<int>(out.dim[2 + d]);
    a.kernel = static_cast<int>(params.kernel[d]);
    a.stride = static_cast<int>(params.stride[d]);
    a.dilation = static_cast<int>(params.dilation[d]);
    a.padLow = static_cast<int>(params.pad[d]);
    a.padHigh = static_cast<int>(params.pad[2 + d]);
    return a;
  };
  PoolGeometry g;
  g.h = axis(0);
  g.w = axis(1);
  g.images = static_cast<int>(in.dim[0]);
  g.channels = static_cast<int>(in.dim[1]);
  g.inImage = in.stride[0];
  g.inRow = in.stride[2];
  g.inColumn = in.stride[3];
  g.outImage = out.stride[0];
  g.outRow = out.stride[2];
  g.outColumn = out.stride[3];
  return g;
}

/// From an image's pixel (0, 0) to where the taps kh and kw of a window lie.
LWCC_HD int64_t inputOffset(const PoolGeometry &g, TapRange h, int kh,
                            TapRange w, int kw) {
  return (h.start + kh * g.h.dilation) * g.inRow +
         (w.start + kw * g.w.dilation) * g.inColumn;
}

/// x points at the first of V channels of an image's pixel (0, 0); `h` and `w`
/// are the window. One without a tap inside the input gives -infinity and tap
/// 0.
template <int V>
LWCC_HD void maxPoolAt(const PoolGeometry &g, const float *x, TapRange h,
                       TapRange w, float (&best)[V], int (&tap)[V]) {
  bool inside = h.begin < h.end && w.begin < w.end;
  LWCC_NEIGHBOURS
  for (int v = 0; v < V; ++v) {
    best[v] = -INFINITY;
    tap[v] = inside ? h.begin * g.w.kernel + w.begin : 0;
  }
  for (int kh = h.begin; kh < h.end; ++kh)
    for (int kw = w.begin; kw < w.end; ++kw) {
      const float *at = x + inputOffset(g, h, kh, w, kw);
      int number = kh * g.w.kernel + kw;
      LWCC_NEIGHBOURS
      for (int v = 0; v < V; ++v) {
        float value = at[v];
        bool take = value > best[v] || value != value;
        best[v] = take ? value : best[v];
        tap[v] = take ? number : tap[v];
      }
    }
}

/// dy and index point at the first of V channels of an image's pixel (0, 0).
template <int V, typename Index>
LWCC_HD void maxPoolGradAt(const PoolGeometry &g, const float *dy,
                           const Index *index, int ih, int iw,
                           float (&sum)[V]) {
  LWCC_NEIGHBOURS
  for (int v = 0; v < V; ++v)
    sum[v] = 0.0f;
  for (int oh = outBegin(g.h, ih); oh < outEnd(g.h, ih); ++oh)
    for (int ow = outBegin(g.w, iw); ow < outEnd(g.w, iw); ++ow) {
      int kh = tapOf(g.h, oh, ih), kw = tapOf(g.w, ow, iw);
      if (kh < 0 || kw < 0)
        continue;
      int64_t at = oh * g.outRow + ow * g.outColumn;
      int number = kh * g.w.kernel + kw;
      LWCC_NEIGHBOURS
      for (int v = 0; v < V; ++v)
        sum[v] += static_cast<int>(index[at + v]) == number ? dy[at + v] : 0.0f;
    }
}

/// What the sum over a window is divided by.
LWCC_HD float avgPoolDivisor(const PoolGeometry &g, TapRange h, TapRange w) {
  int taps =
      g.countPad ? h.padded * w.padded : (h.end - h.begin) * (w.end - w.begin);
  return taps > 0 ? static_cast<float>(taps) : 1.0f;
}

/// x points at the first of V channels of an image's pixel (0, 0).
template <int V>
LWCC_HD void avgPoolAt(const PoolGeometry &g, const float *x, TapRange h,
                       TapRange w, float (&mean)[V]) {
  LWCC_NEIGHBOURS
  for (int v = 0; v < V; ++v)
    mean[v] = 0.0f;
  for (int kh = h.begin; kh < h.end; ++kh)
    for (int kw = w.begin; kw < w.end; ++kw) {
      const float *at = x + inputOffset(g, h, kh, w, kw);
      LWCC_NEIGHBOURS
      for (int v = 0; v < V; ++v)
        mean[v] += at[v];
    }
  float divisor = avgPoolDivisor(g, h, w);
  LWCC_NEIGHBOURS
  for (int v = 0; v < V; ++v)
    mean[v] /= divisor;
}

template <int V>
LWCC_HD void avgPoolGradAt(const PoolGeometry &g, const float *dy, int ih,
                           int iw, float (&sum)[V]) {
  LWCC_NEIGHBOURS
  for (int v = 0; v < V; ++v)
    sum[v] = 0.0f;
  for (int oh = outBegin(g.h, ih); oh < outEnd(g.h, ih); ++oh)
    for (int ow = outBegin(g.w, iw); ow < outEnd(g.w, iw); ++ow) {
      if (tapOf(g.h, oh, ih) < 0 || tapOf(g.w, ow, iw) < 0)
        continue;
      const float *at = dy + oh * g.outRow + ow * g.outColumn;
      float divisor = avgPoolDivisor(g, tapRange(g.h, oh), tapRange(g.w, ow));
      LWCC_NEIGHBOURS
      for (int v = 0; v < V; ++v)
        sum[v] += at[v] / divisor;
    }
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_POOLBODY_H

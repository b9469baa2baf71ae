//===- Convolve.cpp - Convolutions as loops over dense memory -------------===//

#include "test/cuda-emulation/libraries/Convolve.h"

#include <algorithm>
#include <vector>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

/// The taps t for which 0 <= out * stride - pad + t * dilation < extent.
static std::pair<int64_t, int64_t> tapsInside(int64_t out, int64_t stride,
                                              int64_t pad, int64_t dilation,
                                              int64_t extent, int64_t taps) {
  int64_t first = out * stride - pad;
  int64_t from = first < 0 ? (-first + dilation - 1) / dilation : 0;
  int64_t to = first < extent ? (extent - 1 - first) / dilation + 1 : 0;
  return {from, std::min(to, taps)};
}

/// Calls f(image, row of x, row of y, row of the filter) where they meet.
template <typename F>
static void forEachRow(const ConvLoops &l, F f) {
  for (int64_t image = 0; image < l.n; ++image)
    for (int64_t p = 0; p < l.p; ++p) {
      auto [from, to] =
          tapsInside(p, l.strideH, l.padTop, l.dilationH, l.h, l.r);
      for (int64_t r = from; r < to; ++r)
        f(image, p * l.strideH - l.padTop + r * l.dilationH, p, r);
    }
}

/// y += a x over n elements.
static void addScaled(float *__restrict y, float a, const float *__restrict x,
                      int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += a * x[i];
}

/// sum += part, part = 0.
static void flush(double *__restrict sum, float *__restrict part, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    sum[i] += static_cast<double>(part[i]);
    part[i] = 0;
  }
}

static void store(float *to, const std::vector<double> &sums) {
  for (double sum : sums)
    *to++ = static_cast<float>(sum);
}

void lwcc::emulation::dnn::convolve(const ConvLoops &l, const float *x,
                                    const float *w, float *y) {
  const int64_t cg = l.c / l.groups, kg = l.k / l.groups;
  std::vector<float> part(static_cast<size_t>(kg));
  std::vector<double> sums(static_cast<size_t>(l.n * l.p * l.q * l.k));
  forEachRow(l, [&](int64_t image, int64_t row, int64_t p, int64_t r) {
    for (int64_t q = 0; q < l.q; ++q) {
      auto [from, to] =
          tapsInside(q, l.strideW, l.padLeft, l.dilationW, l.w, l.s);
      for (int64_t g = 0; g < l.groups; ++g) {
        for (int64_t s = from; s < to; ++s) {
          int64_t column = q * l.strideW - l.padLeft + s * l.dilationW;
          const float *in =
              x + ((image * l.h + row) * l.w + column) * l.c + g * cg;
          const float *taps = w + ((g * l.r + r) * l.s + s) * cg * kg;
          for (int64_t c = 0; c < cg; ++c)
            addScaled(part.data(), in[c], taps + c * kg, kg);
        }
        flush(&sums[static_cast<size_t>(((image * l.p + p) * l.q + q) * l.k +
                                        g * kg)],
              part.data(), kg);
      }
    }
  });
  store(y, sums);
}

void lwcc::emulation::dnn::convolveGradInput(const ConvLoops &l, float *dx,
                                             const float *w, const float *dy) {
  const int64_t cg = l.c / l.groups, kg = l.k / l.groups;
  std::vector<float> part(static_cast<size_t>(cg));
  std::vector<double> sums(static_cast<size_t>(l.n * l.h * l.w * l.c));
  forEachRow(l, [&](int64_t image, int64_t row, int64_t p, int64_t r) {
    for (int64_t q = 0; q < l.q; ++q) {
      auto [from, to] =
          tapsInside(q, l.strideW, l.padLeft, l.dilationW, l.w, l.s);
      for (int64_t s = from; s < to; ++s) {
        int64_t column = q * l.strideW - l.padLeft + s * l.dilationW;
        for (int64_t g = 0; g < l.groups; ++g) {
          const float *out = dy + ((image * l.p + p) * l.q + q) * l.k + g * kg;
          const float *taps = w + ((g * l.r + r) * l.s + s) * kg * cg;
          for (int64_t k = 0; k < kg; ++k)
            addScaled(part.data(), out[k], taps + k * cg, cg);
          flush(&sums[static_cast<size_t>(
                    ((image * l.h + row) * l.w + column) * l.c + g * cg)],
                part.data(), cg);
        }
      }
    }
  });
  store(dx, sums);
}

void lwcc::emulation::dnn::convolveGradWeight(const ConvLoops &l,
                                              const float *x, float *dw,
                                              const float *dy) {
  const int64_t cg = l.c / l.groups, kg = l.k / l.groups;
  const int64_t tap = cg * kg; // elements of dw for one tap of one group
  const auto elements = static_cast<size_t>(l.groups * l.r * l.s * tap);
  std::vector<float> part(elements);
  std::vector<double> sums(elements);
  // How many products each float has taken since it was last added to its sum.
  int64_t terms = 0;
  forEachRow(l, [&](int64_t image, int64_t row, int64_t p, int64_t r) {
    for (int64_t q = 0; q < l.q; ++q) {
      auto [from, to] =
          tapsInside(q, l.strideW, l.padLeft, l.dilationW, l.w, l.s);
      for (int64_t s = from; s < to; ++s) {
        int64_t column = q * l.strideW - l.padLeft + s * l.dilationW;
        for (int64_t g = 0; g < l.groups; ++g) {
          const float *in =
              x + ((image * l.h + row) * l.w + column) * l.c + g * cg;
          const float *out = dy + ((image * l.p + p) * l.q + q) * l.k + g * kg;
          float *taps =
              &part[static_cast<size_t>(((g * l.r + r) * l.s + s) * tap)];
          for (int64_t c = 0; c < cg; ++c)
            addScaled(taps + c * kg, in[c], out, kg);
        }
      }
    }
    terms += l.q;
    if (terms >= 64) {
      flush(sums.data(), part.data(), static_cast<int64_t>(elements));
      terms = 0;
    }
  });
  flush(sums.data(), part.data(), static_cast<int64_t>(elements));
  store(dw, sums);
}

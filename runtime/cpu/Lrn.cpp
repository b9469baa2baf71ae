//===- Lrn.cpp - Local response normalization -------------------*- C++ -*-===//
//
// Works pixel by pixel, on a row of channels that lie next to one another. Each
// element gets the operations of core/LrnBody.h in their order; rows let the
// compiler vectorize them.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LoopNest.h"
#include "runtime/core/LrnBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>

namespace lwcc::rt {

namespace {
/// Start of each pixel's channels.
struct Pixels {
  LoopNest<1> nest;

  explicit Pixels(const Tensor &x) {
    assert(x.rank == 4 && x.stride[1] == 1 && "lrn needs channels-last");
    nest.rank = 3;
    for (int d = 0; d < 3; ++d) {
      nest.extent[d] = x.dim[d == 0 ? 0 : d + 1];
      nest.stride[0][d] = x.stride[d == 0 ? 0 : d + 1];
    }
    collapse(nest);
  }
  int64_t count() const { return iterations(nest); }
  int64_t offset(int64_t pixel) const {
    int64_t at[1];
    offsetsAt(nest, pixel, at);
    return at[0];
  }
};
} // namespace

/// sum[c] = 0 + f(c - below) + ... + f(c + above), window by window as the
/// bodies do, but all channels of one distance at a time, which vectorizes.
template <typename Value>
static inline void windowSums(int channels, int below, int above, float *sum,
                              const Value &value) {
  std::fill(sum, sum + channels, 0.0f);
  for (int d = -below; d <= above; ++d) {
    int end = std::min(channels, channels - d);
#pragma GCC ivdep
    for (int c = std::max(0, -d); c < end; ++c)
      sum[c] += value(c + d);
  }
}

/// scale[c] and its power of every channel of a pixel.
static inline void scalesOf(const LrnGeometry &g, const float *x, float *scale,
                            float *power) {
  windowSums(g.channels, g.below, g.above, scale,
             [=](int c) { return x[c] * x[c]; });
#pragma GCC ivdep
  for (int c = 0; c < g.channels; ++c) {
    scale[c] = g.bias + g.alphaOverSize * scale[c];
    power[c] = lrnPower(g, scale[c]);
  }
}

LWCC_CLONES static void lrnPixel(const LrnGeometry &g, float *y, const float *x,
                                 float *scale, float *power) {
  scalesOf(g, x, scale, power);
#pragma GCC ivdep
  for (int c = 0; c < g.channels; ++c)
    y[c] = x[c] * power[c];
}

LWCC_CLONES static void lrnGradPixel(const LrnGeometry &g, float *dx,
                                     const float *dy, const float *x,
                                     float *scale, float *power, float *ratio) {
  scalesOf(g, x, scale, power);
#pragma GCC ivdep
  for (int c = 0; c < g.channels; ++c)
    ratio[c] = dy[c] * x[c] * power[c] / scale[c];
  float *sum = scale; // no longer needed
  windowSums(g.channels, g.above, g.below, sum,
             [=](int c) { return ratio[c]; });
#pragma GCC ivdep
  for (int c = 0; c < g.channels; ++c)
    dx[c] = lrnGradFrom(g, dy[c], x[c], power[c], sum[c]);
}

/// Calls body(element offset, scratch) for every pixel; the scratch holds three
/// rows of channels, `row` floats each.
template <typename Body>
static void appendPixels(CpuLane &on, const char *op, const Tensor &result,
                         const Pixels &pixels, int64_t row, const Body &body) {
  on.needWorkspace(3 * row * on.threads * static_cast<int64_t>(sizeof(float)));
  on.append(op, {result}, [=, &on] {
    float *scratch = reinterpret_cast<float *>(on.workspace());
    int64_t count = pixels.count();
    int64_t parts = std::min<int64_t>(on.threads, count);
    parallelFor(on.threads, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part)
        for (int64_t p = count * part / parts; p < count * (part + 1) / parts;
             ++p)
          body(pixels.offset(p), scratch + part * 3 * row);
    });
  });
}

/// Floats per row of scratch: whole cache lines.
static int64_t scratchRow(const LrnGeometry &g) {
  return (g.channels + 15) / 16 * 16;
}

void lrn(Lane &lane, Tensor y, Tensor x, const LrnParams &params) {
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  int64_t row = scratchRow(g);
  appendPixels(cpuLane(lane), "lrn", y, Pixels(x), row,
               [=](int64_t at, float *scratch) {
                 lrnPixel(g, y.as<float>() + at, x.as<float>() + at, scratch,
                          scratch + row);
               });
}

void lrn_grad(Lane &lane, Tensor dx, Tensor dy, Tensor x,
              const LrnParams &params) {
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  int64_t row = scratchRow(g);
  appendPixels(cpuLane(lane), "lrn_grad", dx, Pixels(x), row,
               [=](int64_t at, float *scratch) {
                 lrnGradPixel(g, dx.as<float>() + at, dy.as<float>() + at,
                              x.as<float>() + at, scratch, scratch + row,
                              scratch + 2 * row);
               });
}

} // namespace lwcc::rt

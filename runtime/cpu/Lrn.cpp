//===- Lrn.cpp - Local response normalization -------------------*- C++ -*-===//
//
// Pixel by pixel around the bodies of core/LrnBody.h; channels lie next to one
// another.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LoopNest.h"
#include "runtime/core/LrnBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

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

LWCC_CLONES static void lrnPixel(const LrnGeometry &g, float *y,
                                 const float *x) {
  for (int c = 0; c < g.channels; ++c)
    y[c] = lrnAt(g, x, c);
}

LWCC_CLONES static void lrnGradPixel(const LrnGeometry &g, float *dx,
                                     const float *dy, const float *x,
                                     float *ratio) {
  for (int c = 0; c < g.channels; ++c)
    ratio[c] = lrnRatio(g, dy, x, c);
  for (int c = 0; c < g.channels; ++c)
    dx[c] = lrnGradAt(g, dy, x, c, [&](int d) { return ratio[d]; });
}

static int64_t pixelGrain(const LrnGeometry &g) {
  return std::max<int64_t>(2048 / std::max(g.channels, 1), 1);
}

void lrn(Lane &lane, Tensor y, Tensor x, const LrnParams &params) {
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  Pixels pixels(x);
  CpuLane &on = cpuLane(lane);
  on.append("lrn", {y}, [=, threads = on.threads] {
    parallelFor(threads, pixels.count(), pixelGrain(g),
                [&](int64_t begin, int64_t end) {
                  for (int64_t p = begin; p < end; ++p) {
                    int64_t at = pixels.offset(p);
                    lrnPixel(g, y.as<float>() + at, x.as<float>() + at);
                  }
                });
  });
}

void lrn_grad(Lane &lane, Tensor dx, Tensor dy, Tensor x,
              const LrnParams &params) {
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  Pixels pixels(x);
  CpuLane &on = cpuLane(lane);
  // One pixel's ratios per part of the parallel loop, at least a cache line.
  int64_t row = (g.channels + 15) / 16 * 16;
  on.needWorkspace(row * on.threads * sizeof(float));
  on.append("lrn_grad", {dx}, [=, &on] {
    float *ratios = reinterpret_cast<float *>(on.workspace());
    int64_t count = pixels.count();
    int64_t parts = std::min<int64_t>(on.threads, count);
    parallelFor(on.threads, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part)
        for (int64_t p = count * part / parts; p < count * (part + 1) / parts;
             ++p) {
          int64_t at = pixels.offset(p);
          lrnGradPixel(g, dx.as<float>() + at, dy.as<float>() + at,
                       x.as<float>() + at, ratios + part * row);
        }
    });
  });
}

} // namespace lwcc::rt

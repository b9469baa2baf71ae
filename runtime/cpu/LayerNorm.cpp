//===- LayerNorm.cpp - Normalization of rows --------------------*- C++ -*-===//
//
// Rows along the last dimension, one after the other. A row is read once for
// each of its sums and once more to write it, mostly from the nearest cache.
// Squares are those of differences to the mean, so that nothing cancels. A few
// terms are added in float, side by side, and their sums in double: a row's
// bits depend on its length alone, not on where it lies or who computes it.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/HostDevice.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Rows.h"

#include <cassert>
#include <cmath>
#include <type_traits>

namespace lwcc::rt {

static constexpr int parts = 16;          ///< sums side by side
static constexpr int64_t floatTerms = 32; ///< of each, added in float

/// The distance of elements that are next to one another.
using Adjacent = std::integral_constant<int64_t, 1>;

/// The sum of term(i) for i of [0, n).
template <typename Term>
static inline double sumOf(int64_t n, const Term &term) {
  double total = 0;
  int64_t i = 0;
  while (n - i >= parts) {
    float sums[parts] = {};
    const int64_t end = std::min(n, i + parts * floatTerms);
    for (; i + parts <= end; i += parts)
      LWCC_NEIGHBOURS
    for (int p = 0; p < parts; ++p)
      sums[p] += term(i + p);
    for (float sum : sums)
      total += sum;
  }
  for (; i < n; ++i)
    total += term(i);
  return total;
}

/// Returns what the row is multiplied by. `y` may be `x`.
template <typename Step>
static inline float normalize(float *y, const float *x, Step step, int64_t n,
                              const LayerNormParams &params) {
  const auto count = static_cast<double>(n);
  float mean = 0;
  if (params.center)
    mean = static_cast<float>(sumOf(n, [=](int64_t i) { return x[i * step]; }) /
                              count);
  const double variance = sumOf(n,
                                [=](int64_t i) {
                                  const float d = x[i * step] - mean;
                                  return d * d;
                                }) /
                          count;
  const auto scale =
      static_cast<float>(1.0 / std::sqrt(variance + params.epsilon));
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    y[i * step] = (x[i * step] - mean) * scale;
  return scale;
}

LWCC_CLONES static float normalizeRow(float *y, const float *x, int64_t step,
                                      int64_t n,
                                      const LayerNormParams &params) {
  return step == 1 ? normalize(y, x, Adjacent(), n, params)
                   : normalize(y, x, step, n, params);
}

/// `dx` may be `dy` or `y`.
template <typename Step>
static inline void gradient(float *dx, const float *dy, const float *y,
                            Step step, int64_t n, float scale, bool center) {
  const auto count = static_cast<double>(n);
  float mean = 0;
  if (center)
    mean = static_cast<float>(
        sumOf(n, [=](int64_t i) { return dy[i * step]; }) / count);
  const auto along = static_cast<float>(
      sumOf(n, [=](int64_t i) { return dy[i * step] * y[i * step]; }) / count);
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    dx[i * step] = scale * (dy[i * step] - mean - y[i * step] * along);
}

LWCC_CLONES static void gradientRow(float *dx, const float *dy, const float *y,
                                    int64_t step, int64_t n, float scale,
                                    bool center) {
  if (step == 1)
    gradient(dx, dy, y, Adjacent(), n, scale, center);
  else
    gradient(dx, dy, y, step, n, scale, center);
}

void layer_norm(Lane &lane, Tensor y, Tensor invstd, Tensor x,
                const LayerNormParams &params) {
  assert(y.stride == x.stride && "rows lie alike");
  AxisRows<3> rows({x, y, invstd}, x.rank - 1);
  CpuLane &on = cpuLane(lane);
  on.append("layer_norm", {y, invstd}, [=, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[3]) {
      const float scale =
          normalizeRow(y.as<float>() + at[1], x.as<float>() + at[0],
                       rows.step[0], rows.length, params);
      if (invstd)
        invstd.as<float>()[at[2]] = scale;
    });
  });
}

void layer_norm_grad(Lane &lane, Tensor dx, Tensor dy, Tensor y, Tensor invstd,
                     const LayerNormGradParams &params) {
  assert(dx.stride == dy.stride && y.stride == dy.stride && "rows lie alike");
  AxisRows<4> rows({dx, dy, y, invstd}, y.rank - 1);
  CpuLane &on = cpuLane(lane);
  on.append("layer_norm_grad", {dx}, [=, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[4]) {
      gradientRow(dx.as<float>() + at[0], dy.as<float>() + at[1],
                  y.as<float>() + at[2], rows.step[0], rows.length,
                  invstd.as<float>()[at[3]], params.center);
    });
  });
}

} // namespace lwcc::rt

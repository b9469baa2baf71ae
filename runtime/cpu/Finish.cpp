//===- Finish.cpp - Bias and ReLU behind a product --------------*- C++ -*-===//
//
// See Finish.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Finish.h"
#include "runtime/core/Math.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>

namespace lwcc::rt {

/// Fewest elements for which a further thread pays.
static constexpr int64_t finishGrain = 8192;

/// y[i] = max(y[i] + bias[i], 0), both parts optional.
LWCC_CLONES static void finishRow(float *y, const float *bias, bool relu,
                                  int64_t n) {
  if (bias)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      y[i] += bias[i];
  if (relu)
    for (int64_t i = 0; i < n; ++i)
      y[i] = rt::max(y[i], 0.0f);
}

/// The same on elements that are not neighbours.
static void finishRow(float *y, int64_t stride, const float *bias, bool relu,
                      int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    float &value = y[i * stride];
    value += bias ? bias[i] : 0.0f;
    value = relu ? rt::max(value, 0.0f) : value;
  }
}

void finish(int threads, const Tensor &y, const Tensor &bias, bool relu) {
  LoopNest<1> rows = logicalNest(y);
  if (!bias) // no dimension matters
    collapse(rows);
  int last = rows.rank - 1;
  int64_t n = rows.extent[last], stride = rows.stride[0][last];
  --rows.rank;
  if (rows.rank == 0) { // one row: cut it
    parallelFor(threads, n, finishGrain, [&](int64_t b, int64_t e) {
      const float *add = bias ? bias.as<float>() + b : nullptr;
      float *to = y.as<float>() + b * stride;
      stride == 1 ? finishRow(to, add, relu, e - b)
                  : finishRow(to, stride, add, relu, e - b);
    });
    return;
  }
  int64_t grain = std::max<int64_t>(finishGrain / std::max<int64_t>(n, 1), 1);
  parallelFor(threads, iterations(rows), grain, [&](int64_t b, int64_t e) {
    for (int64_t row = b; row < e; ++row) {
      int64_t at[1];
      offsetsAt(rows, row, at);
      float *to = y.as<float>() + at[0];
      stride == 1 ? finishRow(to, bias.as<float>(), relu, n)
                  : finishRow(to, stride, bias.as<float>(), relu, n);
    }
  });
}

} // namespace lwcc::rt

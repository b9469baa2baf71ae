//===- Softmax.cpp - Softmax and log-softmax --------------------*- C++ -*-===//
//
// Works row by row along the axis (SoftmaxRow.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LoopNest.h"
#include "runtime/core/Math.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Rows.h"
#include "runtime/cpu/SoftmaxRow.h"

namespace lwcc::rt {

void softmax(Lane &lane, Tensor y, Tensor x, const SoftmaxParams &params) {
  int axis =
      static_cast<int>(params.axis < 0 ? params.axis + x.rank : params.axis);
  AxisRows<2> rows({y, x}, axis);
  CpuLane &on = cpuLane(lane);
  on.append("softmax", {y}, [=, log = params.log, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[2]) {
      const float *from = x.as<float>() + at[1];
      float *to = y.as<float>() + at[0];
      if (!log && rows.step[0] == 1 && rows.step[1] == 1) {
        softmaxRow(to, from, rows.length);
        return;
      }
      const SoftmaxRow row(from, rows.step[1], rows.length);
      if (log)
        row.logProbabilities(to, rows.step[0]);
      else
        row.probabilities(to, rows.step[0]);
    });
  });
}

void softmax_grad(Lane &lane, Tensor dx, Tensor dy, Tensor y,
                  const SoftmaxParams &params) {
  int axis =
      static_cast<int>(params.axis < 0 ? params.axis + y.rank : params.axis);
  AxisRows<3> rows({dx, dy, y}, axis);
  CpuLane &on = cpuLane(lane);
  on.append("softmax_grad", {dx}, [=, log = params.log, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[3]) {
      float *to = dx.as<float>() + at[0];
      const float *up = dy.as<float>() + at[1], *value = y.as<float>() + at[2];
      const int64_t *step = rows.step;
      if (!log)
        return softmaxRowGradient(to, step[0], up, step[1], value, step[2],
                                  rows.length);
      double sum = 0;
      for (int64_t i = 0; i < rows.length; ++i)
        sum += up[i * step[1]];
      for (int64_t i = 0; i < rows.length; ++i)
        to[i * step[0]] =
            up[i * step[1]] - exp(value[i * step[2]]) * static_cast<float>(sum);
    });
  });
}

} // namespace lwcc::rt

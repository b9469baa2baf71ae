//===- Softmax.cpp - Softmax and log-softmax --------------------*- C++ -*-===//
//
// Works row by row along the axis. Elements are float, a row's sum is double.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LoopNest.h"
#include "runtime/core/Math.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Rows.h"

#include <cmath>

namespace lwcc::rt {

void softmax(Lane &lane, Tensor y, Tensor x, const SoftmaxParams &params) {
  int axis =
      static_cast<int>(params.axis < 0 ? params.axis + x.rank : params.axis);
  AxisRows<2> rows({y, x}, axis);
  CpuLane &on = cpuLane(lane);
  on.append("softmax", {y}, [=, log = params.log, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[2]) {
      float *to = y.as<float>() + at[0];
      const float *from = x.as<float>() + at[1];
      int64_t toStep = rows.step[0], fromStep = rows.step[1];
      SoftmaxRow row(from, fromStep, rows.length);
      for (int64_t i = 0; i < rows.length; ++i) {
        float value = from[i * fromStep];
        to[i * toStep] =
            log ? row.logProbability(value) : row.probability(value);
      }
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
      double sum = 0;
      for (int64_t i = 0; i < rows.length; ++i) {
        double g = up[i * step[1]];
        sum += log ? g : g * value[i * step[2]];
      }
      float s = static_cast<float>(sum);
      for (int64_t i = 0; i < rows.length; ++i) {
        float g = up[i * step[1]], v = value[i * step[2]];
        to[i * step[0]] = log ? g - std::exp(v) * s : v * (g - s);
      }
    });
  });
}

} // namespace lwcc::rt

//===- Sgd.cpp - Stochastic gradient descent --------------------*- C++ -*-===//
//
// One pass over weight, gradient and momentum: the update is bound by memory,
// so each is read once and written once.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/SgdBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

namespace lwcc::rt {

LWCC_CLONES static void sgdRange(const StepScalars &scalars, int64_t n,
                                 float *w, const float *g, float *m) {
  StepScalars s = scalars; // a copy that the stores below cannot change
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    sgdUpdate(s, w[i], g[i], m[i]);
}

void sgd(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor g, Tensor m,
         Tensor scalars, Tensor loss) {
  assert(w_new.data == w.data && m_new.data == m.data && "updated in place");
  assert(w.stride == g.stride && w.stride == m.stride && "different layouts");
  CpuLane &on = cpuLane(lane);
  on.append("sgd", {w_new, m_new}, [=, threads = on.threads] {
    if (!isFiniteLoss(*loss.as<float>()))
      return;
    parallelFor(threads, w.elements(), 16384, [&](int64_t b, int64_t e) {
      sgdRange(*scalars.as<StepScalars>(), e - b, w.as<float>() + b,
               g.as<float>() + b, m.as<float>() + b);
    });
  });
}

} // namespace lwcc::rt

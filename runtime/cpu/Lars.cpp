//===- Lars.cpp - LARS ------------------------------------------*- C++ -*-===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void larsPrepare(const StepScalars &s, int64_t n,
                                    const float *w, const float *g,
                                    float *const *states, double *norms) {
  prepareRange<LarsBody>(s, n, w, g, states, norms);
}

LWCC_CLONES static void larsFinish(const StepScalars &s, float trust, int64_t n,
                                   float *w, const float *g,
                                   float *const *states) {
  finishRange<LarsBody>(s, trust, n, w, g, states);
}

void lars(Lane &lane, [[maybe_unused]] Tensor w_new,
          [[maybe_unused]] Tensor m_new, Tensor w, Tensor m, Tensor scalars,
          Tensor loss, const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updated in place");
  appendUpdate(lane, "lars",
               NormPasses{larsPrepare, LarsBody::trust, larsFinish}, w, {m},
               scalars, loss, gs, params);
}

} // namespace lwcc::rt

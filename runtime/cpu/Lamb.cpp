//===- Lamb.cpp - LAMB ------------------------------------------*- C++ -*-===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void lambPrepare(const StepScalars &s, int64_t n,
                                    const float *w, const float *g,
                                    float *const *states, double *norms) {
  prepareRange<LambBody>(s, n, w, g, states, norms);
}

LWCC_CLONES static void lambFinish(const StepScalars &s, float trust, int64_t n,
                                   float *w, const float *g,
                                   float *const *states) {
  finishRange<LambBody>(s, trust, n, w, g, states);
}

void lamb(Lane &lane, [[maybe_unused]] Tensor w_new,
          [[maybe_unused]] Tensor m_new, [[maybe_unused]] Tensor v_new,
          Tensor w, Tensor m, Tensor v, Tensor scalars, Tensor loss,
          const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && v_new.data == v.data &&
         "updated in place");
  appendUpdate(lane, "lamb",
               NormPasses{lambPrepare, LambBody::trust, lambFinish}, w, {m, v},
               scalars, loss, gs, params);
}

} // namespace lwcc::rt

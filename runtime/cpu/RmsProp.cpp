//===- RmsProp.cpp - RMSprop ------------------------------------*- C++ -*-===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void rmspropRange(const StepScalars &s, int64_t n, float *w,
                                     const float *g, float *const *states) {
  updateRange<RmsPropBody>(s, n, w, g, states);
}

void rmsprop(Lane &lane, [[maybe_unused]] Tensor w_new,
             [[maybe_unused]] Tensor v_new, [[maybe_unused]] Tensor m_new,
             Tensor w, Tensor v, Tensor m, Tensor scalars, Tensor loss,
             const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && v_new.data == v.data && m_new.data == m.data &&
         "updated in place");
  appendUpdate(lane, "rmsprop", rmspropRange, w, {v, m}, scalars, loss, gs,
               params);
}

} // namespace lwcc::rt

//===- Lion.cpp - Lion ------------------------------------------*- C++ -*-===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void lionRange(const StepScalars &s, int64_t n, float *w,
                                  const float *g, float *const *states) {
  updateRange<LionBody>(s, n, w, g, states);
}

void lion(Lane &lane, [[maybe_unused]] Tensor w_new,
          [[maybe_unused]] Tensor m_new, Tensor w, Tensor m, Tensor scalars,
          Tensor loss, const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updated in place");
  appendUpdate(lane, "lion", lionRange, w, {m}, scalars, loss, gs, params);
}

} // namespace lwcc::rt

//===- Adam.cpp - Adam and AdamW --------------------------------*- C++ -*-===//
//
// Both are one function: which weight decay there is says `scalars`.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void adamRange(const StepScalars &s, int64_t n, float *w,
                                  const float *g, float *const *states) {
  updateRange<AdamBody>(s, n, w, g, states);
}

void adam(Lane &lane, [[maybe_unused]] Tensor w_new,
          [[maybe_unused]] Tensor m_new, [[maybe_unused]] Tensor v_new,
          Tensor w, Tensor m, Tensor v, Tensor scalars, Tensor loss,
          const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && v_new.data == v.data &&
         "updated in place");
  appendUpdate(lane, "adam", adamRange, w, {m, v}, scalars, loss, gs, params);
}

} // namespace lwcc::rt

//===- Adagrad.cpp - Adagrad ------------------------------------*- C++ -*-===//
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <cassert>

namespace lwcc::rt {

LWCC_CLONES static void adagradRange(const StepScalars &s, int64_t n, float *w,
                                     const float *g, float *const *states) {
  updateRange<AdagradBody>(s, n, w, g, states);
}

void adagrad(Lane &lane, [[maybe_unused]] Tensor w_new,
             [[maybe_unused]] Tensor v_new, Tensor w, Tensor v, Tensor scalars,
             Tensor loss, const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && v_new.data == v.data && "updated in place");
  appendUpdate(lane, "adagrad", adagradRange, w, {v}, scalars, loss, gs,
               params);
}

} // namespace lwcc::rt

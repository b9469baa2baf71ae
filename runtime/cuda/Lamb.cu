//===- Lamb.cu - LAMB ---------------------------------------------------===//

#include "runtime/cuda/Update.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::lamb(Lane &lane, Tensor w_new, Tensor m_new, Tensor v_new, Tensor w,
              Tensor m, Tensor v, Tensor scalars, Tensor loss,
              const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && v_new.data == v.data &&
         "updates in place");
  appendNormUpdate<LambBody>(lane, "lamb", w, {m, v}, scalars, loss, gs,
                             params);
}

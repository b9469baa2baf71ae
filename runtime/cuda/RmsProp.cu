//===- RmsProp.cu - RMSprop -----------------------------------------------===//

#include "runtime/cuda/Update.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::rmsprop(Lane &lane, Tensor w_new, Tensor v_new, Tensor m_new, Tensor w,
                 Tensor v, Tensor m, Tensor scalars, Tensor loss,
                 const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && v_new.data == v.data && m_new.data == m.data &&
         "updates in place");
  appendUpdate<RmsPropBody>(lane, "rmsprop", w, {v, m}, scalars, loss, gs,
                            params);
}

//===- Lars.cu - LARS ---------------------------------------------------===//

#include "runtime/cuda/Update.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::lars(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
              Tensor scalars, Tensor loss, const Tensors &gs,
              const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updates in place");
  appendNormUpdate<LarsBody>(lane, "lars", w, {m}, scalars, loss, gs, params);
}

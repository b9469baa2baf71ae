//===- Adam.cu - Adam and AdamW -------------------------------------------===//
//
// Both are one function: which weight decay there is says `scalars`.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Update.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::adam(Lane &lane, Tensor w_new, Tensor m_new, Tensor v_new, Tensor w,
              Tensor m, Tensor v, Tensor scalars, Tensor loss,
              const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && v_new.data == v.data &&
         "updates in place");
  appendUpdate<AdamBody>(lane, "adam", w, {m, v}, scalars, loss, gs, params);
}

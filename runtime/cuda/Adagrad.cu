//===- Adagrad.cu - Adagrad -----------------------------------------------===//

#include "runtime/cuda/Update.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::adagrad(Lane &lane, Tensor w_new, Tensor v_new, Tensor w, Tensor v,
                 Tensor scalars, Tensor loss, const Tensors &gs,
                 const UpdateParams &params) {
  assert(w_new.data == w.data && v_new.data == v.data && "updates in place");
  appendUpdate<AdagradBody>(lane, "adagrad", w, {v}, scalars, loss, gs, params);
}

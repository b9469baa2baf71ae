//===- Sgd.cu - Sums and stochastic gradient descent ----------------------===//
//
// The update reads gradients where they lie, also on other devices, each
// element once. It sums them in the order of the operands, so that every device
// that sums the same tensors gets the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StridedCopy.h"
#include "runtime/cuda/Sgd.h"
#include "runtime/cuda/Update.cuh"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// y = the sum of the terms, of which the first may be y.
template <typename T>
__global__ void __launch_bounds__(256)
    sumTerms(int64_t items, float *y, const __grid_constant__ Terms terms) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride)
    reinterpret_cast<T *>(y)[i] = sumAt<T>(terms, i);
}

/// The same where the terms are parts of tensors with equal strides.
__global__ void __launch_bounds__(256)
    sumParts(const LoopNest<2> nest, int64_t items, float *y,
             const __grid_constant__ Terms terms) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    int64_t at[2];
    offsetsAt(nest, i, at);
    y[at[0]] = sumAt<float>(terms, at[1]);
  }
}

} // namespace

void rt::sum(Lane &base, Tensor y, const Tensors &xs) {
  assert(xs.size() <= maxTerms && "the compiler makes several calls of more");
  for ([[maybe_unused]] const Tensor &x : xs)
    assert(x.stride == xs[0].stride && "different layouts");
  CudaLane &lane = cudaLane(base);
  auto run = [=, &lane] {
    if (xs[0].stride != y.stride) {
      const int64_t items = y.elements();
      lane.launch(sumParts, lane.blocksFor(items, 256), 256, copyNest(y, xs[0]),
                  items, y.as<float>(), Terms(xs));
      return;
    }
    Tensors touched = xs;
    touched.push_back(y);
    const bool wide = areWide(touched);
    const int64_t items = y.elements() / (wide ? 4 : 1);
    lane.launch(wide ? sumTerms<float4> : sumTerms<float>,
                lane.blocksFor(items, 256), 256, items, y.as<float>(),
                Terms(xs));
  };
  lane.append("sum", {y}, run, 0, xs);
}

void cuda::launchSgd(CudaLane &lane, const Tensor &w, const Tensor &m,
                     const Tensor &scalars, const Tensor &loss,
                     const Tensors &gs, const UpdateParams &params) {
  launchUpdate<SgdBody>(lane, w, {m}, scalars, loss, gs, params);
}

void rt::sgd(Lane &lane, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
             Tensor scalars, Tensor loss, const Tensors &gs,
             const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updates in place");
  appendUpdate<SgdBody>(lane, "sgd", w, {m}, scalars, loss, gs, params);
}

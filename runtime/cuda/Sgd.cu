//===- Sgd.cu - Sums and stochastic gradient descent ----------------------===//
//
// The update reads gradients where they lie, also on other devices, each
// element once. It sums them in the order of the operands, so that every device
// that sums the same tensors gets the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/SgdBody.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/cuda/Sgd.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// What is summed; an argument of a kernel.
struct Terms {
  const float *at[maxTerms];
  int count;

  explicit Terms(const Tensors &xs) : count(0) {
    for (const Tensor &x : xs)
      at[count++] = x.as<const float>();
  }
};

/// Element i of the sum, of floats or of four floats at once.
template <typename T>
__device__ T sumAt(const Terms &terms, int64_t i) {
  T total = reinterpret_cast<const T *>(terms.at[0])[i];
  for (int t = 1; t < terms.count; ++t) {
    const T x = reinterpret_cast<const T *>(terms.at[t])[i];
    if constexpr (sizeof(T) == sizeof(float)) {
      total += x;
    } else {
      total.x += x.x;
      total.y += x.y;
      total.z += x.z;
      total.w += x.w;
    }
  }
  return total;
}

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

template <typename T>
__global__ void __launch_bounds__(256)
    sgdStep(int64_t items, float *w, float *m, const StepScalars *scalars,
            const float *loss, const __grid_constant__ Terms gradients) {
  if (!isFiniteLoss(*loss))
    return;
  const StepScalars s = *scalars;
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    T wi = reinterpret_cast<T *>(w)[i];
    T mi = reinterpret_cast<T *>(m)[i];
    const T g = sumAt<T>(gradients, i);
    if constexpr (sizeof(T) == sizeof(float)) {
      sgdUpdate(s, wi, g, mi);
    } else {
      sgdUpdate(s, wi.x, g.x, mi.x);
      sgdUpdate(s, wi.y, g.y, mi.y);
      sgdUpdate(s, wi.z, g.z, mi.z);
      sgdUpdate(s, wi.w, g.w, mi.w);
    }
    reinterpret_cast<T *>(w)[i] = wi;
    reinterpret_cast<T *>(m)[i] = mi;
  }
}

/// Whether all can be read four floats at a time.
bool areWide(const Tensors &tensors) {
  bool wide = tensors[0].elements() % 4 == 0;
  for (const Tensor &t : tensors)
    wide &= reinterpret_cast<uintptr_t>(t.data) % 16 == 0;
  return wide;
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
                     const Tensors &gs) {
  Tensors touched = gs;
  touched.push_back(w);
  touched.push_back(m);
  const bool wide = areWide(touched);
  const int64_t items = w.elements() / (wide ? 4 : 1);
  lane.launch(wide ? sgdStep<float4> : sgdStep<float>,
              lane.blocksFor(items, 256), 256, items, w.as<float>(),
              m.as<float>(), scalars.as<const StepScalars>(),
              loss.as<const float>(), Terms(gs));
}

void rt::sgd(Lane &base, Tensor w_new, Tensor m_new, Tensor w, Tensor m,
             Tensor scalars, Tensor loss, const Tensors &gs) {
  assert(w_new.data == w.data && m_new.data == m.data && "updates in place");
  assert(gs.size() <= maxTerms && "the compiler sums more before");
  CudaLane &lane = cudaLane(base);
  lane.append(
      "sgd", {w_new, m_new},
      [=, &lane] { launchSgd(lane, w, m, scalars, loss, gs); }, 0, gs);
}

//===- Update.cuh - An optimizer's update on a GPU ------------------------===//
//
// What all optimizers share: sums of gradients where they lie, also on other
// devices, each element read once; and the loop over elements around an
// optimizer's body (core/UpdateBody.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_UPDATE_CUH
#define LWCC_RUNTIME_CUDA_UPDATE_CUH

#include "runtime/core/UpdateBody.h"
#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

namespace lwcc::rt::cuda {

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

/// Whether all can be read four floats at a time.
inline bool areWide(const Tensors &tensors) {
  bool wide = tensors[0].elements() % 4 == 0;
  for (const Tensor &t : tensors)
    wide &= reinterpret_cast<uintptr_t>(t.data) % 16 == 0;
  return wide;
}

/// The states of a parameter; an argument of a kernel.
template <int N>
struct States {
  float *at[N];
};

template <typename Body, typename T>
__global__ void __launch_bounds__(256)
    updateStep(int64_t items, float *w,
               const __grid_constant__ States<Body::states> states,
               const StepScalars *scalars, const UpdateParams params,
               const float *loss, const __grid_constant__ Terms gradients) {
  if (!isFiniteLoss(*loss))
    return;
  const StepScalars s = scalarsFor(*scalars, params);
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  constexpr int width = sizeof(T) / sizeof(float);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    // Elements beside one another are loaded and stored as one.
    union Elements {
      T all;
      float each[width];
    };
    Elements wi, g, state[Body::states];
    wi.all = reinterpret_cast<T *>(w)[i];
    for (int k = 0; k < Body::states; ++k)
      state[k].all = reinterpret_cast<T *>(states.at[k])[i];
    g.all = sumAt<T>(gradients, i);
    for (int e = 0; e < width; ++e) {
      float own[Body::states];
      for (int k = 0; k < Body::states; ++k)
        own[k] = state[k].each[e];
      Body::apply(s, wi.each[e], g.each[e], own);
      for (int k = 0; k < Body::states; ++k)
        state[k].each[e] = own[k];
    }
    reinterpret_cast<T *>(w)[i] = wi.all;
    for (int k = 0; k < Body::states; ++k)
      reinterpret_cast<T *>(states.at[k])[i] = state[k].all;
  }
}

/// Launches the update of w and the states in place with the sum of gs, in
/// their order.
template <typename Body>
void launchUpdate(CudaLane &lane, const Tensor &w,
                  const std::array<Tensor, Body::states> &states,
                  const Tensor &scalars, const Tensor &loss, const Tensors &gs,
                  const UpdateParams &params) {
  Tensors touched = gs;
  touched.push_back(w);
  States<Body::states> at;
  for (int k = 0; k < Body::states; ++k) {
    touched.push_back(states[k]);
    at.at[k] = states[k].template as<float>();
  }
  const bool wide = areWide(touched);
  const int64_t items = w.elements() / (wide ? 4 : 1);
  lane.launch(wide ? updateStep<Body, float4> : updateStep<Body, float>,
              lane.blocksFor(items, 256), 256, items, w.as<float>(), at,
              scalars.as<const StepScalars>(), params, loss.as<const float>(),
              Terms(gs));
}

template <typename Body>
void appendUpdate(Lane &base, const char *name, const Tensor &w,
                  const std::array<Tensor, Body::states> &states,
                  const Tensor &scalars, const Tensor &loss, const Tensors &gs,
                  const UpdateParams &params) {
  assert(gs.size() <= maxTerms && "the compiler sums more before");
  CudaLane &lane = cudaLane(base);
  Tensors updated = {w};
  updated.insert(updated.end(), states.begin(), states.end());
  lane.append(
      name, updated,
      [=, &lane] {
        launchUpdate<Body>(lane, w, states, scalars, loss, gs, params);
      },
      0, gs);
}

//===----------------------------------------------------------------------===//
// By norms of the whole parameter
//===----------------------------------------------------------------------===//

/// First pass: the states, and each block's sums of squares of the weights and
/// of what is compared with them.
template <typename Body>
__global__ void __launch_bounds__(256)
    prepareUpdate(int64_t items, const float *w,
                  const __grid_constant__ States<Body::states> states,
                  const StepScalars *scalars, const UpdateParams params,
                  const float *loss, const __grid_constant__ Terms gradients,
                  float *squares) {
  if (!isFiniteLoss(*loss))
    return;
  const StepScalars s = scalarsFor(*scalars, params);
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  float weight = 0, vector = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    float own[Body::states];
    for (int k = 0; k < Body::states; ++k)
      own[k] = states.at[k][i];
    const float wi = w[i];
    const float u = Body::prepare(s, wi, sumAt<float>(gradients, i), own);
    for (int k = 0; k < Body::states; ++k)
      states.at[k][i] = own[k];
    weight += wi * wi;
    vector += u * u;
  }
  weight = blockReduce(weight, Add());
  vector = blockReduce(vector, Add());
  if (threadIdx.x == 0) {
    squares[2 * blockIdx.x] = weight;
    squares[2 * blockIdx.x + 1] = vector;
  }
}

/// Second pass: each block adds up all sums of the first, of as many blocks, in
/// their order.
template <typename Body>
__global__ void __launch_bounds__(256)
    finishUpdate(int64_t items, float *w,
                 const __grid_constant__ States<Body::states> states,
                 const StepScalars *scalars, const UpdateParams params,
                 const float *loss, const __grid_constant__ Terms gradients,
                 const float *squares) {
  if (!isFiniteLoss(*loss))
    return;
  const StepScalars s = scalarsFor(*scalars, params);
  float weight = 0, vector = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) {
    weight += squares[2 * block];
    vector += squares[2 * block + 1];
  }
  const float trust = Body::trust(s, sqrtf(weight), sqrtf(vector));
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    float own[Body::states];
    for (int k = 0; k < Body::states; ++k)
      own[k] = states.at[k][i];
    float wi = w[i];
    Body::finish(s, trust, wi, sumAt<float>(gradients, i), own);
    w[i] = wi;
    for (int k = 0; k < Body::states; ++k)
      states.at[k][i] = own[k];
  }
}

/// Appends an update of the whole w, in two passes.
template <typename Body>
void appendNormUpdate(Lane &base, const char *name, const Tensor &w,
                      const std::array<Tensor, Body::states> &states,
                      const Tensor &scalars, const Tensor &loss,
                      const Tensors &gs, const UpdateParams &params) {
  assert(gs.size() <= maxTerms && "the compiler sums more before");
  CudaLane &lane = cudaLane(base);
  Tensors updated = {w};
  updated.insert(updated.end(), states.begin(), states.end());
  const int64_t items = w.elements();
  // Every block reads the sums of all.
  const unsigned blocks = std::min(lane.blocksFor(items, 256), 256u);
  lane.append(
      name, updated,
      [=, &lane] {
        States<Body::states> at;
        for (int k = 0; k < Body::states; ++k)
          at.at[k] = states[k].template as<float>();
        auto *squares = reinterpret_cast<float *>(lane.workspace());
        lane.launch(prepareUpdate<Body>, blocks, 256, items,
                    w.as<const float>(), at, scalars.as<const StepScalars>(),
                    params, loss.as<const float>(), Terms(gs), squares);
        lane.launch(finishUpdate<Body>, blocks, 256, items, w.as<float>(), at,
                    scalars.as<const StepScalars>(), params,
                    loss.as<const float>(), Terms(gs), squares);
      },
      blocks * 2 * int64_t(sizeof(float)), gs);
}

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_UPDATE_CUH

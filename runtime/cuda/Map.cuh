//===- Map.cuh - Launching generated elementwise kernels --------*- C++ -*-===//
//
// A program's elementwise kernels are structs with one function:
//
//   struct F {
//     static constexpr int inputs;    // how many
//     static constexpr bool indexed;  // whether `at` uses the index
//     LWCC_HD static float at(const StepScalars &s, uint64_t i, float x0, ...);
//   };
//
// map<F>(lane, y, {x0, ...}, scalars) sets every element of y, reading inputs
// that broadcast to y. Where tensors are not float32, F has Elements
// (core/Elements.h). Here are only the two kernels that F is compiled into:
// one that handles four neighbouring elements at a time and one for the rest.
// Which of them runs, and over which loops, is decided in Map.cpp, which is
// compiled once; so this header costs an emitted program little.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_MAP_CUH
#define LWCC_RUNTIME_CUDA_MAP_CUH

#include "runtime/core/Elements.h"
#include "runtime/core/HostDevice.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Scalars.h"
#include "runtime/core/Tensor.h"
#include "runtime/cuda/KernelAddress.h"

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lwcc::rt::cuda {

inline constexpr int maxMapInputs = 16;

/// The loops of a map, outermost first. An item is one element of y, or, in the
/// vector kernel, four neighbours along the innermost loop; extents and strides
/// count items of that loop accordingly.
struct MapArguments {
  int64_t items = 0;
  int rank = 1;
  uint32_t extent[maxRank] = {}; ///< extent[0] is never divided by
  void *y = nullptr;
  int64_t strideY[maxRank] = {};
  const void *x[maxMapInputs] = {};
  int64_t strideX[maxMapInputs][maxRank] = {};
  bool dense[maxMapInputs] = {}; ///< an item's four elements are neighbours in
                                 ///< x, rather than one element
  const StepScalars *scalars = nullptr;
  int64_t indexStart = 0; ///< logical (row-major) index of item 0
  int64_t strideIndex[maxRank] = {};
  int64_t indexStep = 0; ///< between the four elements of an item
};

struct MapKernels {
  const void *vector, *scalar; ///< the two instances of mapKernel
  int inputs;
  bool indexed;
};

/// Appends a map. Throws Error for 2^32 items and more that are not one loop.
void appendMap(Lane &lane, const MapKernels &kernels, Tensor y,
               const Tensors &xs, Tensor scalars, const MapParams &params);

#ifdef __CUDACC__

template <class T>
struct alignas(4 * sizeof(T)) Four {
  T v[4];
};

/// Four neighbours, or one element four times, as floats.
template <class T>
__device__ __forceinline__ float4 loadFour(const void *x, int64_t at,
                                           bool dense) {
  const T *from = static_cast<const T *>(x) + at;
  if (dense) {
    if constexpr (std::is_same_v<T, float>) {
      return *reinterpret_cast<const float4 *>(from);
    } else {
      const auto four = *reinterpret_cast<const Four<T> *>(from);
      return float4{
          static_cast<float>(four.v[0]), static_cast<float>(four.v[1]),
          static_cast<float>(four.v[2]), static_cast<float>(four.v[3])};
    }
  }
  auto one = static_cast<float>(*from);
  return float4{one, one, one, one};
}

template <class T>
__device__ __forceinline__ void storeFour(void *y, int64_t at, float4 value) {
  T *to = static_cast<T *>(y) + at;
  if constexpr (std::is_same_v<T, float>)
    *reinterpret_cast<float4 *>(to) = value;
  else
    *reinterpret_cast<Four<T> *>(to) = {
        {storedAs<T>(value.x), storedAs<T>(value.y), storedAs<T>(value.z),
         storedAs<T>(value.w)}};
}

template <class F, int V, size_t... I>
__device__ __forceinline__ void mapItem(const MapArguments &a,
                                        const StepScalars &s, int64_t item,
                                        std::index_sequence<I...>) {
  using Elements = ElementsOf<F>;
  using Y = typename Elements::Result;
  constexpr int n = sizeof...(I);
  int64_t y = 0, index = a.indexStart, x[n + 1] = {};
  auto step = [&](int64_t at, int d) {
    y += at * a.strideY[d];
    if constexpr (F::indexed)
      index += at * a.strideIndex[d];
#pragma unroll
    for (int k = 0; k < n; ++k)
      x[k] += at * a.strideX[k][d];
  };
  if (a.rank > 1) {
    auto rest = static_cast<uint32_t>(item);
    for (int d = a.rank - 1; d > 0; --d) {
      uint32_t quotient = rest / a.extent[d];
      step(rest - quotient * a.extent[d], d);
      rest = quotient;
    }
    step(rest, 0);
  } else {
    step(item, 0);
  }

  if constexpr (V == 1) {
    static_cast<Y *>(a.y)[y] = storedAs<Y>(
        F::at(s, static_cast<uint64_t>(index),
              static_cast<float>(
                  static_cast<const typename Elements::template Input<I> *>(
                      a.x[I])[x[I]])...));
  } else {
    static_assert(V == 4);
    const float4 v[n + 1] = {loadFour<typename Elements::template Input<I>>(
        a.x[I], x[I], a.dense[I])...};
    auto i = static_cast<uint64_t>(index);
    auto next = static_cast<uint64_t>(a.indexStep);
    float4 result;
    result.x = F::at(s, i, v[I].x...);
    result.y = F::at(s, i + next, v[I].y...);
    result.z = F::at(s, i + 2 * next, v[I].z...);
    result.w = F::at(s, i + 3 * next, v[I].w...);
    storeFour<Y>(a.y, y, result);
  }
}

template <class F, int V>
__global__ void __launch_bounds__(256) mapKernel(const MapArguments a) {
  StepScalars s;
  if constexpr (F::indexed)
    s = *a.scalars;
  int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < a.items; item += stride)
    mapItem<F, V>(a, s, item, std::make_index_sequence<F::inputs>{});
}

#endif // __CUDACC__

} // namespace lwcc::rt::cuda

#ifdef __CUDACC__
namespace lwcc::rt {

/// y[i] = F::at(*scalars, i, xs[0][i], ...) with numpy's broadcasting of the
/// inputs; `scalars` may be absent where F is not indexed. y may be one of the
/// inputs.
template <class F>
void map(Lane &lane, Tensor y, const Tensors &xs, Tensor scalars = {},
         const MapParams &params = {}) {
  static_assert(F::inputs <= cuda::maxMapInputs,
                "a generated kernel has too many inputs");
  assert(haveElementsOf<F>(y, xs) && "a kernel's tensors have its types");
  cuda::appendMap(lane,
                  {cuda::kernelAddress(&cuda::mapKernel<F, 4>),
                   cuda::kernelAddress(&cuda::mapKernel<F, 1>), F::inputs,
                   F::indexed},
                  y, xs, scalars, params);
}

} // namespace lwcc::rt
#endif // __CUDACC__

#endif // LWCC_RUNTIME_CUDA_MAP_CUH

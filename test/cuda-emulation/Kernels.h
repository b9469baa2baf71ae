//===- Kernels.h - CUDA C++ as host C++ -------------------------*- C++ -*-===//
//
// Included before a .cu file that is compiled by clang as C++ with
// -fsanitize=thread, whose calls come to Hooks.cpp. What our kernels use of the
// language, no more: what is not here does not compile, and is to be added with
// its checks.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_KERNELS_H
#define LWCC_TEST_CUDAEMULATION_KERNELS_H

#include "KernelAddress.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include <cuda_runtime_api.h>

// For our own headers; NVIDIA's have been included, and have not seen it.
#define __CUDACC__
#define __CUDA_ARCH_LIST__ 900

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
// The sections say what is a kernel, and where a block's memory is.
#define __global__ __attribute__((section("lwcc_kernels"), noinline))
#define __shared__ static __attribute__((section("lwcc_shared")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace lwcc::emulation {

/// One of CUDA's vectors, which the GPU loads and stores as a whole: that wants
/// an address of its alignment. The compiler checks one for calls of members,
/// and not for copies of plain structs.
template <typename T>
struct alignas(4 * sizeof(T)) Vector4 {
  T x, y, z, w;

  Vector4() = default;
  Vector4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  Vector4(const Vector4 &other) { *this = other; }
  Vector4 &operator=(const Vector4 &other) {
    x = other.x;
    y = other.y;
    z = other.z;
    w = other.w;
    return *this;
  }
};

} // namespace lwcc::emulation

#define float4 lwcc::emulation::Vector4<float>
#define uint4 lwcc::emulation::Vector4<unsigned>

namespace lwcc::emulation {

// Convergent: the compiler must not put them under another condition.
#define LWCC_TOGETHER __attribute__((convergent, noinline))
LWCC_TOGETHER void waitForBlock();
/// What the lane `source` of the warp gave; all lanes of the mask meet here.
LWCC_TOGETHER uint64_t exchange(uint32_t mask, uint64_t value, int source);
/// The lanes of the mask for which it holds.
LWCC_TOGETHER uint32_t vote(uint32_t mask, bool holds);
#undef LWCC_TOGETHER
/// Calls `change` on the bytes as no other thread does.
void atomically(void *address, size_t bytes, void (*change)(void *, void *),
                void *context);

inline int laneOfWarp() {
  return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) *
                              blockDim.x +
                          threadIdx.x) %
         32;
}

template <typename T>
T shuffle(uint32_t mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

} // namespace lwcc::emulation

inline void __syncthreads() { lwcc::emulation::waitForBlock(); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return lwcc::emulation::shuffle(mask, value, lane % 32);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return lwcc::emulation::shuffle(mask, value,
                                  lwcc::emulation::laneOfWarp() ^ distance);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  const int lane = lwcc::emulation::laneOfWarp();
  const int from = lane + static_cast<int>(distance);
  return lwcc::emulation::shuffle(mask, value, from < 32 ? from : lane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return lwcc::emulation::vote(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return lwcc::emulation::vote(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return lwcc::emulation::vote(mask, predicate != 0) == mask;
}

template <typename T>
T atomicAdd(T *address, T value) {
  T values[2] = {value, {}}; // what is added, what was there
  lwcc::emulation::atomically(
      address, sizeof(T),
      [](void *at, void *context) {
        auto *both = static_cast<T *>(context);
        both[1] = *static_cast<T *>(at);
        *static_cast<T *>(at) = both[1] + both[0];
      },
      values);
  return values[1];
}

#endif // LWCC_TEST_CUDAEMULATION_KERNELS_H

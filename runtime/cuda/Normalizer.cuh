//===- Normalizer.cuh - What a softmax divides by ---------------*- C++ -*-===//
//
// Maximum and sum of exponentials of a row, found by a block of threads.
// Softmax.cu and Loss.cu normalize with it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_NORMALIZER_CUH
#define LWCC_RUNTIME_CUDA_NORMALIZER_CUH

#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/Rows.cuh"

namespace lwcc::rt::cuda {

struct Normalizer {
  float max, sum; ///< of x, and of exp(x - max)
};

inline __device__ Normalizer normalizerOf(const Rows &rows, const float *x) {
  float largest = -INFINITY;
  for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
    largest = Max()(largest, x[c * rows.stride]);
  largest = blockReduce(largest, Max());
  float sum = 0.0f;
  for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
    sum += expf(x[c * rows.stride] - largest);
  return {largest, blockReduce(sum, Add())};
}

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_NORMALIZER_CUH

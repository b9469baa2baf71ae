//===- BlockReduce.cuh - Sums over the threads of a block -------*- C++ -*-===//
//
// Reductions within a block of threads. Their order depends on the block's size
// alone, so that every run gives the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_BLOCKREDUCE_CUH
#define LWCC_RUNTIME_CUDA_BLOCKREDUCE_CUH

namespace lwcc::rt::cuda {

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// Of what is not a number any of the two: a softmax is NaN by its sum.
struct Max {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

/// Every thread of the (one-dimensional, multiple of 32) block gets the result.
template <typename T, typename Op>
__device__ T blockReduce(T value, Op op) {
  __shared__ T perWarp[32];
  for (int distance = 16; distance > 0; distance /= 2)
    value = op(value, __shfl_xor_sync(0xffffffffu, value, distance));
  const int warps = blockDim.x / 32;
  if (warps == 1)
    return value;
  if (threadIdx.x % 32 == 0)
    perWarp[threadIdx.x / 32] = value;
  __syncthreads();
  value = perWarp[0];
  for (int w = 1; w < warps; ++w)
    value = op(value, perWarp[w]);
  __syncthreads(); // perWarp may be written again
  return value;
}

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_BLOCKREDUCE_CUH

//===- LayerNorm.cu - Normalization of rows -------------------------------===//
//
// One block of threads for each row along the last dimension. Threads add in
// float, what they have is added in double. Not run on a GPU by the tests of
// the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/Rows.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// Of what the threads of a block have, for every thread.
inline __device__ double meanOf(float sum, const Rows &rows) {
  return blockReduce(static_cast<double>(sum), Add()) /
         static_cast<double>(rows.extent);
}

__global__ void __launch_bounds__(256)
    layerNormForward(const Rows rows, const Rows statistics, bool center,
                     float epsilon, float *y, float *invstd, const float *x) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    float mean = 0.0f;
    if (center) {
      float sum = 0.0f;
      for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
        sum += x[begin + c * rows.stride];
      mean = static_cast<float>(meanOf(sum, rows));
    }
    float squares = 0.0f;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const float d = x[begin + c * rows.stride] - mean;
      squares += d * d;
    }
    const float scale =
        static_cast<float>(1.0 / ::sqrt(meanOf(squares, rows) + epsilon));
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      y[at] = (x[at] - mean) * scale;
    }
    if (invstd && threadIdx.x == 0)
      invstd[statistics.begin(row)] = scale;
  }
}

__global__ void __launch_bounds__(256)
    layerNormBackward(const Rows rows, const Rows statistics, bool center,
                      float *dx, const float *dy, const float *y,
                      const float *invstd) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    float sum = 0.0f, products = 0.0f;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      sum += dy[at];
      products += dy[at] * y[at];
    }
    const float mean = center ? static_cast<float>(meanOf(sum, rows)) : 0.0f,
                along = static_cast<float>(meanOf(products, rows)),
                scale = invstd[statistics.begin(row)];
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      dx[at] = scale * (dy[at] - mean - y[at] * along);
    }
  }
}

} // namespace

void rt::layer_norm(Lane &base, Tensor y, Tensor invstd, Tensor x,
                    const LayerNormParams &params) {
  CudaLane &lane = cudaLane(base);
  const Rows rows = rowsOf(x, x.rank - 1),
             statistics = invstd ? rowsOf(invstd, x.rank - 1) : rows;
  lane.append("layer_norm", {y, invstd}, [=, &lane] {
    lane.launch(layerNormForward, blocksFor(rows), threadsFor(rows), rows,
                statistics, params.center, params.epsilon, y.as<float>(),
                invstd.as<float>(), x.as<const float>());
  });
}

void rt::layer_norm_grad(Lane &base, Tensor dx, Tensor dy, Tensor y,
                         Tensor invstd, const LayerNormGradParams &params) {
  CudaLane &lane = cudaLane(base);
  const Rows rows = rowsOf(y, y.rank - 1),
             statistics = rowsOf(invstd, y.rank - 1);
  lane.append("layer_norm_grad", {dx}, [=, &lane] {
    lane.launch(layerNormBackward, blocksFor(rows), threadsFor(rows), rows,
                statistics, params.center, dx.as<float>(), dy.as<const float>(),
                y.as<const float>(), invstd.as<const float>());
  });
}

//===- Softmax.cu - Softmax and log-softmax -------------------------------===//
//
// One block of threads for each row along the axis. Not run on a GPU by the
// tests of the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Normalizer.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

__global__ void __launch_bounds__(256)
    softmaxForward(const Rows rows, bool log, float *y, const float *x) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    const Normalizer n = normalizerOf(rows, x + begin);
    const float logSum = logf(n.sum);
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      const float shifted = x[at] - n.max;
      y[at] = log ? shifted - logSum : expf(shifted) / n.sum;
    }
  }
}

__global__ void __launch_bounds__(256)
    softmaxBackward(const Rows rows, bool log, float *dx, const float *dy,
                    const float *y) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    float sum = 0.0f;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      sum += log ? dy[at] : dy[at] * y[at];
    }
    sum = blockReduce(sum, Add());
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      dx[at] = log ? dy[at] - expf(y[at]) * sum : (dy[at] - sum) * y[at];
    }
  }
}

} // namespace

static int64_t axisOf(const Tensor &x, const SoftmaxParams &params) {
  return params.axis < 0 ? params.axis + x.rank : params.axis;
}

void rt::softmax(Lane &base, Tensor y, Tensor x, const SoftmaxParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(x, axisOf(x, params));
  lane.append("softmax", {y}, [=, &lane, log = params.log] {
    lane.launch(softmaxForward, blocksFor(rows), threadsFor(rows), rows, log,
                y.as<float>(), x.as<const float>());
  });
}

void rt::softmax_grad(Lane &base, Tensor dx, Tensor dy, Tensor y,
                      const SoftmaxParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(y, axisOf(y, params));
  lane.append("softmax_grad", {dx}, [=, &lane, log = params.log] {
    lane.launch(softmaxBackward, blocksFor(rows), threadsFor(rows), rows, log,
                dx.as<float>(), dy.as<const float>(), y.as<const float>());
  });
}

//===- Reduction.cu - Sums, means and maxima over axes --------------------===//
//
// Sums as functors of Reduction.cuh, the gradient of a convolution's bias among
// them; a maximum by one block of threads for each row. Not run on a GPU by the
// tests of the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ConvBias.h"
#include "runtime/cuda/Reduction.cuh"
#include "runtime/cuda/Rows.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

__global__ void __launch_bounds__(256)
    largestOfRows(const Rows rows, const Rows results, float *y,
                  const float *x) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const float *from = x + rows.begin(row);
    float largest = -INFINITY;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
      largest = Max()(largest, from[c * rows.stride]);
    largest = blockReduce(largest, Max());
    if (threadIdx.x == 0)
      y[results.begin(row)] = largest;
  }
}

} // namespace

void rt::reduce(Lane &lane, Tensor y, Tensor x, const ReduceParams &params) {
  bool isReduced[maxRank] = {};
  for (int64_t axis : params.axes)
    isReduced[axis] = true;
  ReduceLoops loops = reduceLoops(y, x, isReduced);
  double scale = params.mean ? 1.0 / static_cast<double>(loops.terms) : 1.0;
  appendReduction(lane, "reduce", {y},
                  SumOf{x.as<float>(), y.as<float>(), scale}, loops);
}

Work cuda::biasGradient(CudaLane &lane, Tensor dbias, Tensor dy) {
  return reductionWork(lane, SumOf{dy.as<float>(), dbias.as<float>(), 1.0},
                       channelLoops(dy));
}

void rt::reduce_max(Lane &base, Tensor y, Tensor x, const AxisParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(x, params.axis), results = rowsOf(y, params.axis);
  lane.append("reduce_max", {y}, [=, &lane] {
    lane.launch(largestOfRows, blocksFor(rows), threadsFor(rows), rows, results,
                y.as<float>(), x.as<const float>());
  });
}

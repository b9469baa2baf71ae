//===- Lrn.cu - Local response normalization ------------------------------===//
//
// A thread handles one channel of one pixel with the bodies that the CPU runs
// too (LrnBody.h). Not run on a GPU by the tests of the build machine; see
// tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LrnBody.h"
#include "runtime/cuda/CudaMachine.h"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

__global__ void __launch_bounds__(256)
    lrnForward(const LrnGeometry g, int64_t items, float *y, const float *x) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < items; item += stride) {
    const int64_t pixel = item / g.channels;
    const int c = static_cast<int>(item - pixel * g.channels);
    y[item] = lrnAt(g, x + pixel * g.channels, c);
  }
}

__global__ void __launch_bounds__(256)
    lrnBackward(const LrnGeometry g, int64_t items, float *dx, const float *dy,
                const float *x) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < items; item += stride) {
    const int64_t pixel = item / g.channels;
    const int c = static_cast<int>(item - pixel * g.channels);
    const float *px = x + pixel * g.channels, *pdy = dy + pixel * g.channels;
    dx[item] = lrnGradAt(g, pdy, px, c,
                         [&](int d) { return lrnRatio(g, pdy, px, d); });
  }
}

} // namespace

void rt::lrn(Lane &base, Tensor y, Tensor x, const LrnParams &params) {
  CudaLane &lane = cudaLane(base);
  assert(x.rank == 4 && "lrn needs channels-last images");
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  lane.append("lrn", {y}, [=, &lane] {
    lane.launch(lrnForward, lane.blocksFor(x.elements(), 256), 256, g,
                x.elements(), y.as<float>(), x.as<const float>());
  });
}

void rt::lrn_grad(Lane &base, Tensor dx, Tensor dy, Tensor x,
                  const LrnParams &params) {
  CudaLane &lane = cudaLane(base);
  assert(x.rank == 4 && "lrn needs channels-last images");
  LrnGeometry g = lrnGeometry(x.dim[1], params);
  lane.append("lrn_grad", {dx}, [=, &lane] {
    lane.launch(lrnBackward, lane.blocksFor(x.elements(), 256), 256, g,
                x.elements(), dx.as<float>(), dy.as<const float>(),
                x.as<const float>());
  });
}

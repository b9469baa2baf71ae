//===- ConvBias.cu - Bias and ReLU behind an unfused convolution ----------===//

#include "runtime/core/Math.h"
#include "runtime/cuda/ConvBias.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/Map.cuh"
#include "runtime/cuda/MapLoops.h"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

// In this namespace Math.h's functions hide CUDA's.
namespace lwcc::rt::kernels {
namespace {

struct AddBias {
  static constexpr int inputs = 2;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
    return x0 + x1;
  }
};
struct AddBiasRelu {
  static constexpr int inputs = 2;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
    return max(x0 + x1, 0.0f);
  }
};
struct Relu {
  static constexpr int inputs = 1;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0) {
    return max(x0, 0.0f);
  }
};

} // namespace
} // namespace lwcc::rt::kernels

template <class F>
static void launchMap(CudaLane &lane, const Tensor &y, const Tensors &xs) {
  MapLoops loops = mapLoops(y, xs, {});
  auto launch = [&](auto kernel, const MapArguments &a) {
    if (a.items)
      lane.launch(kernel, lane.blocksFor(a.items, 256), 256, a);
  };
  launch(loops.vector ? mapKernel<F, 4> : mapKernel<F, 1>, loops.main);
  launch(mapKernel<F, 1>, loops.tail);
}

void cuda::launchBiasRelu(CudaLane &lane, Tensor y, Tensor bias, bool relu) {
  if (bias) {
    // [m] against [n, m, h, w]: a row of extent m, 1, 1.
    bias = Tensor(bias.data, bias.type, {bias.dim[0], 1, 1}, Layout::dense);
    if (relu)
      launchMap<kernels::AddBiasRelu>(lane, y, {y, bias});
    else
      launchMap<kernels::AddBias>(lane, y, {y, bias});
  } else if (relu) {
    launchMap<kernels::Relu>(lane, y, {y});
  }
}

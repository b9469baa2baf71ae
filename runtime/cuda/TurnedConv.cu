//===- TurnedConv.cu - The gradient of an input, forward ------------------===//

#include "runtime/cuda/TurnedConv.h"

#include <algorithm>
#include <cassert>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// Weights [outputs, inputs of a group, height, width], channels-last.
struct WeightDims {
  int64_t groups, outputs, inputs, height, width; ///< channels of one group
  __host__ __device__ int64_t elements() const {
    return groups * outputs * inputs * height * width;
  }
};

/// turned[group, input, -h, -w, output] = w[group, output, h, w, input].
__global__ void __launch_bounds__(256)
    turnWeights(const WeightDims d, float *turned, const float *w) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < d.elements(); i += stride) {
    int64_t rest = i;
    auto next = [&](int64_t extent) {
      const int64_t at = rest % extent;
      rest /= extent;
      return at;
    };
    const int64_t output = next(d.outputs);
    const int64_t column = d.width - 1 - next(d.width);
    const int64_t row = d.height - 1 - next(d.height);
    const int64_t input = next(d.inputs);
    turned[i] =
        w[(((rest * d.outputs + output) * d.height + row) * d.width + column) *
              d.inputs +
          input];
  }
}

struct SpreadDims {
  int64_t images, height, width, channels;
  int64_t rows, columns; ///< of what is spread
  int64_t rowStep, columnStep;
};

/// dx[n, h * step, w * step, c] = some[n, h, w, c], and zero elsewhere. A block
/// takes a pixel.
__global__ void __launch_bounds__(256)
    spreadPixels(const SpreadDims d, float *dx, const float *some) {
  const int64_t pixels = d.images * d.height * d.width;
  for (int64_t pixel = blockIdx.x; pixel < pixels; pixel += gridDim.x) {
    const int64_t column = pixel % d.width, line = pixel / d.width;
    const int64_t row = line % d.height, image = line / d.height;
    const int64_t r = row / d.rowStep, c = column / d.columnStep;
    const bool touched = row % d.rowStep == 0 && column % d.columnStep == 0;
    const float *from =
        some + ((image * d.rows + r) * d.columns + c) * d.channels;
    float *to = dx + pixel * d.channels;
    for (int64_t k = threadIdx.x; k < d.channels; k += blockDim.x)
      to[k] = touched ? from[k] : 0.0f;
  }
}

} // namespace

std::optional<TurnedConv> cuda::turnedConv(const ConvShape &gradInput) {
  const ConvShape &g = gradInput;
  assert(g.kind == ConvKind::gradInput);
  if (g.tf32)
    return std::nullopt;
  TurnedConv turned;
  ConvShape &shape = turned.shape;
  shape = g;
  shape.kind = ConvKind::forward;
  shape.stride = {1, 1};
  turned.groups = g.x[1] / g.w[1];
  shape.x = g.y;
  shape.w = {g.x[1], g.w[0] / turned.groups, g.w[2], g.w[3]};
  shape.y = g.x;
  if (g.stride != Pair{1, 1}) {
    if (g.w[2] != 1 || g.w[3] != 1 || g.pad != Quad{})
      return std::nullopt;
    turned.spread = g.stride;
    shape.y = {g.x[0], g.x[1], g.y[2], g.y[3]};
    return turned;
  }
  for (size_t d = 0; d < 2; ++d) {
    const int64_t reach = g.dilation[d] * (g.w[2 + d] - 1);
    shape.pad[d] = reach - g.pad[d];
    shape.pad[2 + d] = reach - g.pad[2 + d];
  }
  if (std::any_of(shape.pad.begin(), shape.pad.end(),
                  [](int64_t pad) { return pad < 0; }))
    return std::nullopt;
  return turned;
}

static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

void cuda::appendTurned(CudaLane &lane, const TurnedConv &turned,
                        const ConvPlan &plan, Tensor dx, Tensor dy, Tensor w) {
  const WeightDims weights = {turned.groups, turned.shape.w[1],
                              turned.shape.w[0] / turned.groups, w.dim[2],
                              w.dim[3]};
  const Quad &made = turned.shape.y;
  const bool spread = turned.spread != Pair{1, 1};
  const SpreadDims pixels = {dx.dim[0],        dx.dim[2],       dx.dim[3],
                             dx.dim[1],        made[2],         made[3],
                             turned.spread[0], turned.spread[1]};
  // In the workspace: the plan's own, the weights, what is to be spread.
  const int64_t weightsAt = aligned(plan.workspaceBytes());
  const int64_t madeAt = weightsAt + aligned(w.bytes());
  const int64_t bytes =
      madeAt + (spread ? made[0] * made[1] * made[2] * made[3] *
                             static_cast<int64_t>(sizeof(float))
                       : 0);
  lane.append(
      "conv_grad_input", {dx},
      [=, &lane, &plan] {
        auto *turnedWeights =
            reinterpret_cast<float *>(lane.workspace() + weightsAt);
        auto *some = reinterpret_cast<float *>(lane.workspace() + madeAt);
        lane.launch(turnWeights, lane.blocksFor(weights.elements(), 256), 256,
                    weights, turnedWeights, w.as<const float>());
        launchPlan(lane, plan, dy.data, turnedWeights,
                   spread ? static_cast<void *>(some) : dx.data, nullptr);
        if (spread) {
          const int64_t count = pixels.images * pixels.height * pixels.width;
          const unsigned threads = pixels.channels <= 32    ? 32
                                   : pixels.channels <= 128 ? 128
                                                            : 256;
          lane.launch(spreadPixels,
                      static_cast<unsigned>(std::min<int64_t>(count, 1 << 20)),
                      threads, pixels, dx.as<float>(), some);
        }
      },
      bytes);
}

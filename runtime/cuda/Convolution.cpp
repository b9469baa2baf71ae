//===- Convolution.cpp - Convolutions on cuDNN ----------------------------===//
//
// Decides how a convolution is cut into cuDNN graphs: a bias without a ReLU is
// in the graph where that costs no more than the graph without it, else both
// are one kernel of ours behind it; the gradient of the input is another
// graph's result where that is quicker (TurnedConv.h); the gradient of the bias
// is a reduction of ours.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ConvBias.h"
#include "runtime/cuda/ConvPlan.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/TurnedConv.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

static ConvShape shapeOf(CudaLane &lane, ConvKind kind, const Tensor &x,
                         const Tensor &w, const Tensor &y, const Tensor &bias,
                         const ConvParams &params) {
  auto quadOf = [](const Tensor &t) {
    assert(t.rank == 4 && "convolutions are two-dimensional");
    assert((t.stride[1] == 1 || t.dim[1] == 1) && "channels-last");
    return Quad{t.dim[0], t.dim[1], t.dim[2], t.dim[3]};
  };
  ConvShape shape;
  shape.kind = kind;
  shape.x = quadOf(x);
  shape.w = quadOf(w);
  shape.y = quadOf(y);
  shape.pad = params.pad;
  shape.stride = params.stride;
  shape.dilation = params.dilation;
  for (const Tensor *t : {&x, &w, &y, &bias})
    while (reinterpret_cast<uintptr_t>(t->data) %
           static_cast<uintptr_t>(shape.alignment))
      shape.alignment /= 2;
  shape.tf32 = lane.machine.usesTf32();
  shape.deterministic = lane.machine.isDeterministic();
  // cuDNN takes the number of groups from the channels of x and w.
  assert(shape.x[1] == shape.w[1] * params.group);
  return shape;
}

void cuda::launchPlan(CudaLane &lane, const ConvPlan &plan, void *x, void *w,
                      void *y, void *bias) {
  if (!lane.isRunning())
    return;
  cudnnHandle_t handle = lane.gpu.cudnn();
  cudnnStatus_t status = cudnnSetStream(handle, lane.stream);
  if (status != CUDNN_STATUS_SUCCESS)
    throw Error(std::string("GPU: cuDNN: ") + cudnnGetErrorString(status));
  try {
    plan.execute(handle, x, w, y, bias, lane.workspace());
  } catch (const CudnnRefusal &refusal) {
    throw Error(std::string("GPU: ") + refusal.what());
  }
}

static const ConvPlan &requirePlan(CudaLane &lane, const ConvShape &shape) {
  std::string reason;
  if (const ConvPlan *plan = lane.gpu.planOf(shape, &reason))
    return *plan;
  throw Error("cuDNN has no engine on " + lane.gpu.name + " for convolution " +
              shape.describe() + ": " + reason);
}

static void execute(CudaLane &lane, const ConvPlan &plan, const Tensor &x,
                    const Tensor &w, const Tensor &y, const Tensor &bias) {
  launchPlan(lane, plan, x.data, w.data, y.data, bias.data);
}

/// A pass over the result costs more than a tenth of a convolution.
static constexpr double biasCosts = 1.1;

void rt::conv(Lane &base, Tensor y, Tensor x, Tensor w, Tensor bias,
              const ConvParams &params) {
  CudaLane &lane = cudaLane(base);
  const ConvPlan &plan =
      requirePlan(lane, shapeOf(lane, ConvKind::forward, x, w, y, {}, params));
  // A ReLU needs a pass over the result, in which the bias costs nothing. Plans
  // with a bias may take ten times as long as those without: none is taken
  // unseen, nor by its time where every run must choose alike.
  if (bias && !params.relu && !lane.machine.isDeterministic()) {
    const ConvPlan *fused = lane.gpu.planOf(
        shapeOf(lane, ConvKind::forwardBias, x, w, y, bias, params));
    if (fused && fused->seconds() > 0 &&
        fused->seconds() <= biasCosts * plan.seconds()) {
      lane.append(
          "conv", {y}, [=, &lane] { execute(lane, *fused, x, w, y, bias); },
          fused->workspaceBytes());
      return;
    }
  }
  lane.append(
      "conv", {y},
      [=, &lane, &plan, relu = params.relu] {
        execute(lane, plan, x, w, y, {});
        launchBiasRelu(lane, y, bias, relu);
      },
      plan.workspaceBytes());
}

void rt::conv_grad_input(Lane &base, Tensor dx, Tensor dy, Tensor w,
                         const ConvParams &params) {
  CudaLane &lane = cudaLane(base);
  const ConvShape shape =
      shapeOf(lane, ConvKind::gradInput, dx, w, dy, {}, params);
  if (std::optional<TurnedConv> turned = turnedConv(shape))
    if (const ConvPlan *plan = lane.gpu.planOf(turned->shape)) {
      const ConvPlan *straight =
          shape.deterministic ? nullptr : lane.gpu.planOf(shape);
      if (!straight || plan->seconds() < straight->seconds()) {
        appendTurned(lane, *turned, *plan, dx, dy, w);
        return;
      }
    }
  const ConvPlan &plan = requirePlan(lane, shape);
  lane.append(
      "conv_grad_input", {dx},
      [=, &lane, &plan] { execute(lane, plan, dx, w, dy, {}); },
      plan.workspaceBytes());
}

void rt::conv_grad_weight(Lane &base, Tensor dw, Tensor dbias, Tensor dy,
                          Tensor x, const ConvParams &params) {
  CudaLane &lane = cudaLane(base);
  const ConvPlan *plan = nullptr; // frozen weights need none
  if (dw)
    plan = &requirePlan(
        lane, shapeOf(lane, ConvKind::gradWeight, x, dw, dy, {}, params));
  Work bias;
  if (dbias)
    bias = biasGradient(lane, dbias, dy);
  lane.append(
      "conv_grad_weight", {dw, dbias},
      [=, &lane] {
        if (plan)
          execute(lane, *plan, x, dw, dy, {});
        if (bias.run)
          bias.run();
      },
      std::max(plan ? plan->workspaceBytes() : 0, bias.workspaceBytes));
}

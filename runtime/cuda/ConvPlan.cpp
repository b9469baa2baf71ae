//===- ConvPlan.cpp - How cuDNN will do one convolution -------------------===//

#include "runtime/cuda/ConvPlan.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

// A graph names the handle of its device, although cuDNN 9 calls that attribute
// deprecated: it is the surest way to a plan for that device.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

/// The identities of a graph's tensors in a variant pack.
enum TensorId : int64_t { idX = 1, idW, idY, idBias, idConv, idSum };

} // namespace

const char *cuda::nameOf(ConvKind kind) {
  switch (kind) {
  case ConvKind::forward:
    return "forward";
  case ConvKind::forwardBias:
    return "forward+bias";
  case ConvKind::forwardBiasRelu:
    return "forward+bias+relu";
  case ConvKind::gradInput:
    return "gradient of the input";
  case ConvKind::gradWeight:
    return "gradient of the weights";
  }
  return "";
}

template <size_t N>
static std::string join(const std::array<int64_t, N> &values,
                        const char *between) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}

std::string ConvShape::describe() const {
  return std::string(nameOf(kind)) + " x " + join(x, "x") + " w " +
         join(w, "x") + " y " + join(y, "x") + " pad " + join(pad, ",") +
         " stride " + join(stride, ",") + " dilation " + join(dilation, ",") +
         (tf32 ? " tf32" : " fp32") + (deterministic ? " deterministic" : "");
}

PlanTarget PlanTarget::fromJson(const std::string &json) {
  PlanTarget target(nullptr);
  target.properties = Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  target.properties.setText(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
  target.properties.finalize();
  return target;
}

static Descriptor tensorOf(TensorId id, const Quad &dims, int64_t alignment,
                           bool isVirtual = false) {
  auto [n, c, h, w] = dims;
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t(id));
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::vector<int64_t>{n, c, h, w});
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES,
             std::vector<int64_t>{h * w * c, 1, w * c, c});
  if (isVirtual)
    tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  tensor.finalize();
  return tensor;
}

static Descriptor convolutionOf(const ConvShape &shape) {
  Descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  auto pairOf = [](int64_t h, int64_t w) { return std::vector<int64_t>{h, w}; };
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(2));
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
           pairOf(shape.pad[0], shape.pad[1]));
  conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
           pairOf(shape.pad[2], shape.pad[3]));
  conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
           pairOf(shape.stride[0], shape.stride[1]));
  conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS,
           pairOf(shape.dilation[0], shape.dilation[1]));
  conv.finalize();
  return conv;
}

static Descriptor pointwiseOf(cudnnPointwiseMode_t mode, const Descriptor &in,
                              const Descriptor *operand,
                              const Descriptor &out) {
  Descriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  function.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, in);
  if (operand)
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operand);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out);
  op.finalize();
  return op;
}

static Descriptor forwardOf(const Descriptor &conv, const Descriptor &x,
                            const Descriptor &w, const Descriptor &y) {
  Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
  op.finalize();
  return op;
}

static Descriptor gradInputOf(const Descriptor &conv, const Descriptor &dx,
                              const Descriptor &w, const Descriptor &dy) {
  Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, conv);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
  op.finalize();
  return op;
}

static Descriptor gradWeightOf(const Descriptor &conv, const Descriptor &x,
                               const Descriptor &dw, const Descriptor &dy) {
  Descriptor op(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, conv);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f);
  op.finalize();
  return op;
}

static Descriptor graphOf(const PlanTarget &target,
                          std::initializer_list<const Descriptor *> ops) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle)
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, ops);
  graph.finalize();
  return graph;
}

/// The operation graph of a shape. The descriptors of its parts need not
/// outlive it.
static Descriptor graphOf(const PlanTarget &target, const ConvShape &shape) {
  Descriptor conv = convolutionOf(shape);
  Descriptor x = tensorOf(idX, shape.x, shape.alignment);
  Descriptor w = tensorOf(idW, shape.w, shape.alignment);
  Descriptor y = tensorOf(idY, shape.y, shape.alignment);
  switch (shape.kind) {
  case ConvKind::forward: {
    Descriptor op = forwardOf(conv, x, w, y);
    return graphOf(target, {&op});
  }
  case ConvKind::gradInput: {
    Descriptor op = gradInputOf(conv, x, w, y);
    return graphOf(target, {&op});
  }
  case ConvKind::gradWeight: {
    Descriptor op = gradWeightOf(conv, x, w, y);
    return graphOf(target, {&op});
  }
  case ConvKind::forwardBias:
  case ConvKind::forwardBiasRelu:
    break;
  }
  bool relu = shape.kind == ConvKind::forwardBiasRelu;
  Descriptor bias = tensorOf(idBias, {1, shape.y[1], 1, 1}, shape.alignment);
  Descriptor product = tensorOf(idConv, shape.y, shape.alignment, true);
  Descriptor forward = forwardOf(conv, x, w, product);
  if (!relu) {
    Descriptor add = pointwiseOf(CUDNN_POINTWISE_ADD, product, &bias, y);
    return graphOf(target, {&forward, &add});
  }
  Descriptor sum = tensorOf(idSum, shape.y, shape.alignment, true);
  Descriptor add = pointwiseOf(CUDNN_POINTWISE_ADD, product, &bias, sum);
  Descriptor clip = pointwiseOf(CUDNN_POINTWISE_RELU_FWD, sum, nullptr, y);
  return graphOf(target, {&forward, &add, &clip});
}

/// Whether an engine keeps the promises about precision, determinism and NaN,
/// which a ReLU must not turn into 0.
static bool isAllowed(const Descriptor &config, const ConvShape &shape) {
  std::vector<Descriptor> engine = config.getDescriptors(
      CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (engine.empty())
    return false;
  auto notes = engine.front().getNumericalNotes();
  auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (shape.kind == ConvKind::forwardBiasRelu &&
      !has(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP))
    return false;
  if (shape.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
    return false;
  return shape.tf32 || !(has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
                         has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

/// A lane holds the largest workspace of its operators for good. Some engines
/// ask for gigabytes (VGG-16 in single precision: 1.6), which are better used
/// for a larger batch: these come last, the most modest first.
static constexpr int64_t modestWorkspace = int64_t(256) << 20;

std::optional<ConvPlan>
cuda::buildConvPlan(const PlanTarget &target, const ConvShape &shape,
                    std::string *reason,
                    const std::function<void(const ConvPlan &)> &tryOut) {
  std::string why = "no engine is offered";
  std::vector<ConvPlan> large;
  try {
    Descriptor graph = graphOf(target, shape);
    for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      std::vector<Descriptor> configs;
      try {
        Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
        heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
        if (target.properties.get())
          heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
        heuristics.finalize();
        configs = heuristics.getDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                            CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      } catch (const CudnnRefusal &refusal) {
        why = refusal.what();
        continue;
      }
      for (const Descriptor &config : configs) {
        try {
          if (!isAllowed(config, shape)) {
            why = "the engines that are offered round to TF32, are not "
                  "deterministic, or may lose a NaN";
            continue;
          }
          Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
          if (target.handle)
            plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
          plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
          if (target.properties.get())
            plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
          plan.finalize();
          ConvPlan result;
          result.workspace =
              plan.getInt64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
          result.plan = std::move(plan);
          result.hasBias = shape.kind == ConvKind::forwardBias ||
                           shape.kind == ConvKind::forwardBiasRelu;
          if (result.workspace > modestWorkspace) {
            large.push_back(std::move(result));
            continue;
          }
          if (tryOut)
            tryOut(result);
          return result;
        } catch (const CudnnRefusal &refusal) {
          why = refusal.what();
        }
      }
    }
  } catch (const CudnnRefusal &refusal) {
    why = refusal.what();
  }
  std::stable_sort(large.begin(), large.end(),
                   [](const ConvPlan &a, const ConvPlan &b) {
                     return a.workspace < b.workspace;
                   });
  for (ConvPlan &plan : large)
    try {
      if (tryOut)
        tryOut(plan);
      return std::move(plan);
    } catch (const CudnnRefusal &refusal) {
      why = refusal.what();
    }
  if (reason)
    *reason = why;
  return std::nullopt;
}

void ConvPlan::execute(cudnnHandle_t handle, void *x, void *w, void *y,
                       void *bias, void *workspacePointer) const {
  std::vector<int64_t> ids = {idX, idW, idY};
  std::vector<void *> pointers = {x, w, y};
  if (hasBias) {
    ids.push_back(idBias);
    pointers.push_back(bias);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspacePointer);
  pack.finalize();
  cudnnStatus_t status = cudnnBackendExecute(handle, plan.get(), pack.get());
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(status, "cuDNN convolution");
}

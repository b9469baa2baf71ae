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
enum TensorId : int64_t { idX = 1, idW, idY, idBias, idConv };

} // namespace

const char *cuda::nameOf(ConvKind kind) {
  switch (kind) {
  case ConvKind::forward:
    return "forward";
  case ConvKind::forwardBias:
    return "forward+bias";
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

static Descriptor sumOf(const Descriptor &a, const Descriptor &b,
                        const Descriptor &sum) {
  Descriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  function.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum);
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
    break;
  }
  Descriptor bias = tensorOf(idBias, {1, shape.y[1], 1, 1}, shape.alignment);
  Descriptor product = tensorOf(idConv, shape.y, shape.alignment, true);
  Descriptor forward = forwardOf(conv, x, w, product);
  Descriptor add = sumOf(product, bias, y);
  return graphOf(target, {&forward, &add});
}

/// Whether an engine keeps the promises about precision and determinism.
static bool isAllowed(const Descriptor &config, const ConvShape &shape) {
  std::vector<Descriptor> engine = config.getDescriptors(
      CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (engine.empty())
    return false;
  auto notes = engine.front().getNumericalNotes();
  auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (shape.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
    return false;
  return shape.tf32 || !(has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
                         has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

/// A lane holds the largest workspace of its operators for good. Some engines
/// ask for gigabytes (VGG-16 in single precision: 1.6), which are better used
/// for a larger batch: these come last, the most modest first.
static constexpr int64_t modestWorkspace = int64_t(256) << 20;

namespace lwcc::rt::cuda {
/// The engines of one graph, tried in their order until there is a plan.
class ConvPlanner {
public:
  ConvPlanner(const PlanTarget &target, const ConvShape &shape,
              const TryOut &tryOut)
      : target(target), shape(shape), tryOut(tryOut) {}

  std::optional<ConvPlan> plan() {
    try {
      Descriptor graph = graphOf(target, shape);
      for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        for (const Descriptor &config : configsOf(graph, mode))
          if (tryEngine(config))
            return std::move(quickest);
        if (quickest)
          return std::move(quickest);
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
          plan.measured = tryOut(plan);
        return std::move(plan);
      } catch (const CudnnRefusal &refusal) {
        why = refusal.what();
      }
    return std::nullopt;
  }

  std::string why = "no engine is offered"; ///< where there is no plan

private:
  /// What is tried: on an H100 the quickest was among so many. Without tensor
  /// cores the later ones take up to 700 times as long, which is the time of
  /// trying them.
  int most() const { return shape.tf32 ? 8 : 4; }
  /// Behind an engine that is so many times slower none was quicker.
  static constexpr double hopeless = 3;

  std::vector<Descriptor> configsOf(const Descriptor &graph,
                                    cudnnBackendHeurMode_t mode) {
    try {
      Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
      if (target.properties.get())
        heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
      heuristics.finalize();
      return heuristics.getDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    } catch (const CudnnRefusal &refusal) {
      why = refusal.what();
      return {};
    }
  }

  ConvPlan build(const Descriptor &config) const {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target.handle)
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (target.properties.get())
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
    plan.finalize();
    ConvPlan result;
    result.workspace = plan.getInt64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    result.plan = std::move(plan);
    result.hasBias = shape.kind == ConvKind::forwardBias;
    return result;
  }

  /// Whether that is enough, and `quickest` is to be taken.
  bool tryEngine(const Descriptor &config) {
    try {
      if (!isAllowed(config, shape)) {
        why = "the engines that are offered round to TF32 or are not "
              "deterministic";
        return false;
      }
      ConvPlan plan = build(config);
      if (plan.workspace > modestWorkspace) {
        large.push_back(std::move(plan));
        return false;
      }
      if (tryOut)
        plan.measured = tryOut(plan);
      const double time = plan.measured;
      const double best = quickest ? quickest->measured : time;
      if (!quickest || (time > 0 && time < best))
        quickest = std::move(plan);
      return shape.deterministic || time == 0 || time > hopeless * best ||
             ++tried == most();
    } catch (const CudnnRefusal &refusal) {
      why = refusal.what();
      return false;
    }
  }

  const PlanTarget &target;
  const ConvShape &shape;
  const TryOut &tryOut;
  std::optional<ConvPlan> quickest;
  std::vector<ConvPlan> large;
  int tried = 0;
};
} // namespace lwcc::rt::cuda

std::optional<ConvPlan> cuda::buildConvPlan(const PlanTarget &target,
                                            const ConvShape &shape,
                                            std::string *reason,
                                            const TryOut &tryOut) {
  ConvPlanner planner(target, shape, tryOut);
  std::optional<ConvPlan> plan = planner.plan();
  if (!plan && reason)
    *reason = planner.why;
  return plan;
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

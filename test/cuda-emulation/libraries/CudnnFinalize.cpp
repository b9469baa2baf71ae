//===- CudnnFinalize.cpp - Which descriptors cuDNN takes ------------------===//
//
// The checks of cudnnBackendFinalize(): what is set must make sense by itself
// and beside the parts that it names. What is refused, and with which status,
// is what cuDNN 9.19 does, which finalizes descriptors without a GPU
// (CudnnRefusalsTest.cpp asks both). Refused here although cuDNN takes them are
// mistakes that it does not look for: attributes that its documentation calls
// required, an id that names two tensors, an id that is twice in a variant
// pack.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/CudnnEngines.h"

#include <algorithm>
#include <set>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

static void require(bool holds, cudnnStatus_t status, const std::string &why) {
  if (!holds)
    refuse(status, why);
}

static bool all(const std::vector<int64_t> &values, int64_t least) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value >= least; });
}

static int64_t bytesOf(cudnnDataType_t type) {
  switch (type) {
  case CUDNN_DATA_DOUBLE:
  case CUDNN_DATA_INT64:
    return 8;
  case CUDNN_DATA_FLOAT:
  case CUDNN_DATA_INT32:
    return 4;
  case CUDNN_DATA_HALF:
  case CUDNN_DATA_BFLOAT16:
    return 2;
  default:
    return 1;
  }
}

static void finalizeTensor(const Descriptor &descriptor) {
  GraphTensor tensor = tensorOf(descriptor);
  require(tensor.dims.size() == tensor.strides.size(), CUDNN_STATUS_BAD_PARAM,
          "a tensor has as many strides as dimensions");
  require(all(tensor.dims, 0) && all(tensor.strides, 0), CUDNN_STATUS_BAD_PARAM,
          "a dimension or stride is negative");
  require(tensor.alignment > 0 && tensor.alignment % bytesOf(tensor.type) == 0,
          CUDNN_STATUS_BAD_PARAM,
          "a tensor's alignment is a multiple of its element's size");
}

static void finalizeConvolution(const Descriptor &descriptor) {
  auto dims = static_cast<size_t>(
      descriptor.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  for (auto [name, least] : {std::pair(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0),
                             {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0},
                             {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
                             {CUDNN_ATTR_CONVOLUTION_DILATIONS, 1}}) {
    auto values = descriptor.list<int64_t>(name);
    require(values.size() == dims && all(values, least), CUDNN_STATUS_BAD_PARAM,
            "paddings, strides or dilations of a convolution");
  }
}

/// A part of an operation, of the type that it must have.
static const Descriptor &partOf(const Descriptor &descriptor,
                                cudnnBackendAttributeName_t name,
                                cudnnBackendDescriptorType_t type) {
  DescriptorPtr part = descriptor.part(name);
  require(part->type == type, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
          "a part is of another type");
  require(part->finalized,
          descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
              ? CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED
              : CUDNN_STATUS_BAD_PARAM,
          "a part is not finalized");
  return *part;
}

static void finalizeConvolutionOperation(const Descriptor &op,
                                         cudnnBackendAttributeName_t conv,
                                         cudnnBackendAttributeName_t xName,
                                         cudnnBackendAttributeName_t wName,
                                         cudnnBackendAttributeName_t yName) {
  const Descriptor &how =
      partOf(op, conv, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  auto tensor = [&](cudnnBackendAttributeName_t name) {
    return tensorOf(partOf(op, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  };
  GraphTensor x = tensor(xName), w = tensor(wName), y = tensor(yName);
  auto list = [&](cudnnBackendAttributeName_t name) {
    return how.list<int64_t>(name);
  };
  auto before = list(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
       after = list(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
       stride = list(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
       dilation = list(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const size_t rank = before.size() + 2;
  require(x.dims.size() == rank && w.dims.size() == rank &&
              y.dims.size() == rank,
          CUDNN_STATUS_BAD_PARAM, "a tensor's rank is not the convolution's");
  for (const GraphTensor *each : {&x, &w, &y})
    require(all(each->dims, 1) && isInjective(*each), CUDNN_STATUS_BAD_PARAM,
            "a tensor has no elements, or several in one place");
  require(x.dims[0] == y.dims[0] && w.dims[0] == y.dims[1],
          CUDNN_STATUS_BAD_PARAM, "samples or channels disagree");
  // The number of groups follows from the channels.
  require(x.dims[1] % w.dims[1] == 0 &&
              w.dims[0] % (x.dims[1] / w.dims[1]) == 0,
          CUDNN_STATUS_BAD_PARAM, "channels make no groups");
  for (size_t d = 0; d + 2 < rank; ++d) {
    int64_t window = (w.dims[d + 2] - 1) * dilation[d] + 1;
    int64_t room = x.dims[d + 2] + before[d] + after[d] - window;
    require(room >= 0 && y.dims[d + 2] == room / stride[d] + 1,
            CUDNN_STATUS_BAD_PARAM, "the result's extent is not the window's");
  }
}

static void finalizePointwiseOperation(const Descriptor &op) {
  const Descriptor &how =
      partOf(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
             CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  auto mode = how.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const bool binary = operandsOf(mode) == 2;
  require(!binary || op.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
          CUDNN_STATUS_BAD_PARAM, "the mode has a second operand");
  auto tensor = [&](cudnnBackendAttributeName_t name) {
    return tensorOf(partOf(op, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  };
  GraphTensor y = tensor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  std::vector<GraphTensor> inputs = {
      tensor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)};
  if (binary)
    inputs.push_back(tensor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  for (const GraphTensor &input : inputs)
    require(input.dims.size() == y.dims.size(), CUDNN_STATUS_BAD_PARAM,
            "operands of a pointwise operation have its result's rank");
}

static void finalizeVariantPack(const Descriptor &descriptor) {
  auto ids = descriptor.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers =
      descriptor.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  require(ids.size() == pointers.size(), CUDNN_STATUS_BAD_PARAM,
          "a variant pack has a pointer for each id");
  require(std::set(ids.begin(), ids.end()).size() == ids.size(),
          CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
          "an id is twice in a variant pack");
}

static void finalizeDevice(const Descriptor &descriptor) {
  auto json = descriptor.list<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  std::string text(json.begin(), json.end());
  require(descriptor.has(CUDNN_ATTR_DEVICEPROP_HANDLE) ||
              (text.find("\"deviceVer\"") != std::string::npos &&
               text.find("\"multiProcessorCount\"") != std::string::npos),
          CUDNN_STATUS_BAD_PARAM, "this describes no device");
}

//===----------------------------------------------------------------------===//
// What leads from a graph to a plan
//===----------------------------------------------------------------------===//

static void finalizeGraph(Descriptor &descriptor) {
  auto graph = std::make_shared<Graph>(
      graphOf(descriptor.parts(CUDNN_ATTR_OPERATIONGRAPH_OPS)));
  if (auto handle =
          descriptor.get<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE))
    graph->device = handle->device;
  descriptor.graph = std::move(graph);
}

static DescriptorPtr configOf(const std::shared_ptr<const Graph> &graph,
                              int64_t index) {
  auto engine = std::make_shared<Descriptor>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine->finalized = true;
  engine->graph = graph;
  engine->put<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                       {index});
  engine->put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
              engineAt(index)->notes);
  auto config = std::make_shared<Descriptor>();
  config->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  config->finalized = true;
  config->putParts(CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
  return config;
}

static void finalizeHeuristic(Descriptor &descriptor) {
  auto graph = partOf(descriptor, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                      CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
                   .graph;
  auto mode =
      descriptor.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  std::vector<DescriptorPtr> results;
  // For no device there are no engines.
  if (graph->device >= 0 || descriptor.has(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP))
    for (int64_t index : offered(*graph, mode))
      results.push_back(configOf(graph, index));
  descriptor.putParts(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(results));
}

static void finalizeEngine(Descriptor &descriptor) {
  descriptor.graph = partOf(descriptor, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                            CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
                         .graph;
  auto index = descriptor.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  const Engine *engine = engineAt(index);
  require(engine, CUDNN_STATUS_NOT_SUPPORTED, "there is no such engine");
  descriptor.put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                 engine->notes);
}

static void finalizePlan(Descriptor &descriptor) {
  const Descriptor &engine =
      partOf(partOf(descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                    CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
             CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  auto handle = descriptor.get<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  require(!handle || engine.graph->device < 0 ||
              engine.graph->device == handle->device,
          CUDNN_STATUS_BAD_PARAM, "the graph is of another device");
  auto plan = std::make_shared<Plan>(planOf(
      engine.graph, engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
  descriptor.put<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                          CUDNN_TYPE_INT64, {plan->workspace});
  descriptor.plan = std::move(plan);
}

void lwcc::emulation::dnn::finalize(Descriptor &descriptor) {
  switch (descriptor.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return finalizeTensor(descriptor);
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return finalizeConvolution(descriptor);
  case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    return require(operandsOf(descriptor.get<cudnnPointwiseMode_t>(
                       CUDNN_ATTR_POINTWISE_MODE)) != 0,
                   CUDNN_STATUS_NOT_SUPPORTED, "this pointwise mode");
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return finalizeConvolutionOperation(
        descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return finalizeConvolutionOperation(
        descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return finalizeConvolutionOperation(
        descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return finalizePointwiseOperation(descriptor);
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return finalizeGraph(descriptor);
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return finalizeHeuristic(descriptor);
  case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    return finalizeEngine(descriptor);
  case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    partOf(descriptor, CUDNN_ATTR_ENGINECFG_ENGINE,
           CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    return;
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return finalizePlan(descriptor);
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return finalizeVariantPack(descriptor);
  case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
    return finalizeDevice(descriptor);
  default:
    refuse(CUDNN_STATUS_NOT_SUPPORTED, "descriptors of this type");
  }
}

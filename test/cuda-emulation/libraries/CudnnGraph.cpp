//===- CudnnGraph.cpp - What an operation graph computes ------------------===//

#include "test/cuda-emulation/libraries/CudnnGraph.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <algorithm>
#include <bit>
#include <set>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

GraphTensor lwcc::emulation::dnn::tensorOf(const Descriptor &descriptor) {
  GraphTensor tensor;
  tensor.id = descriptor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.type = descriptor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor.dims = descriptor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = descriptor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.alignment = descriptor.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.isVirtual = descriptor.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  return tensor;
}

bool lwcc::emulation::dnn::isInjective(const GraphTensor &tensor) {
  std::vector<std::pair<int64_t, int64_t>> loops; // stride, extent
  for (size_t d = 0; d < tensor.dims.size(); ++d)
    if (tensor.dims[d] != 1)
      loops.push_back({tensor.strides[d], tensor.dims[d]});
  std::sort(loops.begin(), loops.end());
  int64_t reach = 0; // the largest offset so far
  for (auto [stride, extent] : loops) {
    if (stride <= reach)
      return false;
    reach += stride * (extent - 1);
  }
  return true;
}

int lwcc::emulation::dnn::operandsOf(cudnnPointwiseMode_t mode) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_SUB:
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_MAX:
  case CUDNN_POINTWISE_MIN:
    return 2;
  case CUDNN_POINTWISE_IDENTITY:
  case CUDNN_POINTWISE_RELU_FWD:
  case CUDNN_POINTWISE_TANH_FWD:
  case CUDNN_POINTWISE_SIGMOID_FWD:
    return 1;
  default:
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {
/// Collects the tensors of a graph.
class Tensors {
public:
  explicit Tensors(Graph &graph) : graph(graph) {}

  /// The id of a tensor that an operation names.
  int64_t add(const Descriptor &operation, cudnnBackendAttributeName_t name) {
    GraphTensor tensor = tensorOf(*operation.part(name));
    auto [at, isNew] = graph.tensors.try_emplace(tensor.id, tensor);
    if (!isNew && !(at->second == tensor))
      refuse(CUDNN_STATUS_BAD_PARAM,
             "two tensors have the unique id " + std::to_string(tensor.id));
    return tensor.id;
  }

private:
  Graph &graph;
};
} // namespace

static std::array<int64_t, 2> pairOf(const Descriptor &convolution,
                                     cudnnBackendAttributeName_t name) {
  auto values = convolution.list<int64_t>(name);
  return {values[0], values[1]};
}

/// What a convolution's descriptor says, of two spatial dimensions.
static GraphNode convolutionNode(const Descriptor &convolution) {
  if (convolution.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2)
    refuse(CUDNN_STATUS_NOT_SUPPORTED, "convolutions of two dimensions only");
  GraphNode node;
  node.computeType =
      convolution.get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  node.before = pairOf(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  node.after = pairOf(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  node.stride = pairOf(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  node.dilation = pairOf(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  node.flips = convolution.get<cudnnConvolutionMode_t>(
                   CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION;
  return node;
}

/// The names of one kind of convolution's attributes.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t operation;
  NodeKind kind;
  cudnnBackendAttributeName_t convolution, inputs[2], output, alpha, beta;
};
static const ConvolutionNames convolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     NodeKind::forward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     NodeKind::gradInput,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     NodeKind::gradWeight,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

static GraphNode nodeOf(const Descriptor &op, Tensors &tensors) {
  for (const ConvolutionNames &names : convolutions) {
    if (names.operation != op.type)
      continue;
    GraphNode node = convolutionNode(*op.part(names.convolution));
    node.kind = names.kind;
    node.inputs = {tensors.add(op, names.inputs[0]),
                   tensors.add(op, names.inputs[1])};
    node.output = tensors.add(op, names.output);
    node.scale = op.number(names.alpha, 1);
    node.otherScale = op.number(names.beta, 0);
    return node;
  }
  if (op.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           "a graph is made of operations");
  GraphNode node;
  const Descriptor &how =
      *op.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  node.kind = NodeKind::pointwise;
  node.mode = how.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  node.computeType = how.get<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC);
  node.inputs = {tensors.add(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC)};
  if (operandsOf(node.mode) == 2)
    node.inputs.push_back(
        tensors.add(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  node.output = tensors.add(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  node.scale = op.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  node.otherScale = op.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  node.lowerClip = how.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
  node.upperClip = how.number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 0);
  node.clipsAbove = how.has(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
  node.slope = how.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
  return node;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Puts every node behind those that make its operands.
static std::vector<GraphNode> inOrder(std::vector<GraphNode> nodes) {
  std::set<int64_t> unmade;
  for (const GraphNode &node : nodes)
    if (!unmade.insert(node.output).second)
      refuse(CUDNN_STATUS_BAD_PARAM,
             "two operations make tensor " + std::to_string(node.output));
  std::vector<GraphNode> order;
  while (!nodes.empty()) {
    auto next =
        std::find_if(nodes.begin(), nodes.end(), [&](const GraphNode &node) {
          return std::none_of(node.inputs.begin(), node.inputs.end(),
                              [&](int64_t id) { return unmade.count(id); });
        });
    if (next == nodes.end())
      refuse(CUDNN_STATUS_BAD_PARAM, "the graph has a cycle");
    unmade.erase(next->output);
    order.push_back(std::move(*next));
    nodes.erase(next);
  }
  return order;
}

Graph lwcc::emulation::dnn::graphOf(
    const std::vector<DescriptorPtr> &operations) {
  Graph graph;
  Tensors tensors(graph);
  std::vector<GraphNode> nodes;
  for (const DescriptorPtr &operation : operations)
    nodes.push_back(nodeOf(*operation, tensors));
  graph.nodes = inOrder(std::move(nodes));
  return graph;
}

uint64_t Graph::hash() const {
  uint64_t hash = 0;
  auto add = [&](const auto &values) {
    for (auto value : values)
      hash = drawOf({hash, static_cast<uint64_t>(value)});
  };
  for (const auto &[id, tensor] : tensors) {
    add(tensor.dims);
    add(tensor.strides);
    add(std::array{id, int64_t(tensor.type), tensor.alignment,
                   int64_t(tensor.isVirtual)});
  }
  for (const GraphNode &node : nodes) {
    add(node.inputs);
    add(node.before);
    add(node.after);
    add(node.stride);
    add(node.dilation);
    add(std::array{node.output, int64_t(node.kind), int64_t(node.mode),
                   int64_t(node.flips)});
    add(std::array{std::bit_cast<int64_t>(node.scale),
                   std::bit_cast<int64_t>(node.otherScale)});
  }
  return hash;
}

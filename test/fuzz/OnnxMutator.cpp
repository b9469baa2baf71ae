//===- OnnxMutator.cpp - A mutator that knows ONNX ------------------------===//
//
// Bytes changed at random are seldom a model. This changes the model: nodes
// are deleted, doubled, retyped and rewired; extents and attributes become what
// arithmetic on them may not survive.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "frontend/OnnxOpTable.h"

#include <onnx/onnx_pb.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {
using namespace lwcc;
using onnx::AttributeProto;
using onnx::NodeProto;

class Mutator {
public:
  Mutator(onnx::GraphProto &graph, unsigned seed)
      : graph(graph), random(seed) {}

  void mutate() {
    for (size_t changes = 1 + below(3); changes > 0; --changes)
      switch (below(8)) {
      case 0:
        deleteNode();
        break;
      case 1:
        doubleNode();
        break;
      case 2:
        retypeNode();
        break;
      case 3:
      case 4:
        rewire();
        break;
      case 5:
        changeAttribute();
        break;
      case 6:
        changeTensor();
        break;
      default:
        changeInput();
      }
  }

private:
  size_t below(size_t count) { return count ? random() % count : 0; }

  template <typename Field>
  auto *pick(Field *field) {
    return field->empty() ? nullptr : field->Mutable(int(below(field->size())));
  }

  int64_t number() {
    static const int64_t numbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      -1,
                                      -2,
                                      7,
                                      64,
                                      1 << 20,
                                      int64_t(1) << 24,
                                      INT32_MAX,
                                      int64_t(INT32_MAX) + 1,
                                      int64_t(1) << 40,
                                      int64_t(1) << 45,
                                      int64_t(1) << 62,
                                      std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int64_t>::min()};
    return numbers[below(std::size(numbers))];
  }

  float real() {
    static const float reals[] = {0.0f,     1.0f,      -1.0f, 0.5f,  1e38f,
                                  INFINITY, -INFINITY, NAN,   1e-40f};
    return reals[below(std::size(reals))];
  }

  /// The name of a value of the graph.
  std::string value() {
    size_t inputs = graph.input_size(), stored = graph.initializer_size();
    size_t at = below(inputs + stored + graph.node_size());
    if (at < inputs)
      return graph.input(int(at)).name();
    if (at < inputs + stored)
      return graph.initializer(int(at - inputs)).name();
    if (graph.node_size() == 0)
      return "";
    const NodeProto &node = graph.node(int(at - inputs - stored));
    return node.output_size() ? node.output(0) : "";
  }

  void deleteNode() {
    if (graph.node_size() == 0)
      return;
    // Its users read what it read.
    int at = int(below(graph.node_size()));
    NodeProto gone = graph.node(at);
    graph.mutable_node()->DeleteSubrange(at, 1);
    if (gone.input_size() == 0 || gone.output_size() == 0)
      return;
    for (NodeProto &node : *graph.mutable_node())
      for (std::string &input : *node.mutable_input())
        if (input == gone.output(0))
          input = gone.input(0);
  }

  /// Behind the node stands its twin, which the node's users read.
  void doubleNode() {
    if (graph.node_size() == 0)
      return;
    int at = int(below(graph.node_size()));
    NodeProto twin = graph.node(at);
    if (twin.output_size() == 0)
      return;
    std::string old = twin.output(0);
    std::string fresh = "twin" + std::to_string(random());
    for (int i = at + 1; i < graph.node_size(); ++i)
      for (std::string &input : *graph.mutable_node(i)->mutable_input())
        if (input == old)
          input = fresh;
    twin.clear_output();
    twin.add_output(fresh);
    if (twin.input_size())
      twin.set_input(0, old);
    *graph.add_node() = twin;
    for (int i = graph.node_size() - 1; i > at + 1; --i)
      graph.mutable_node()->SwapElements(i, i - 1);
  }

  void retypeNode() {
    if (NodeProto *node = pick(graph.mutable_node())) {
      llvm::ArrayRef<OnnxOp> ops = onnxOps();
      node->set_op_type(ops[below(ops.size())].name.str());
      if (below(2))
        node->clear_attribute();
    }
  }

  void rewire() {
    NodeProto *node = pick(graph.mutable_node());
    if (!node)
      return;
    switch (below(4)) {
    case 0:
      node->add_input(value());
      break;
    case 1:
      if (node->input_size())
        node->mutable_input()->RemoveLast();
      break;
    case 2:
      if (auto *output = pick(graph.mutable_output()))
        output->set_name(value());
      break;
    default:
      if (std::string *input = pick(node->mutable_input()))
        *input = value();
    }
  }

  /// One of those that the operator's row has, if it has any.
  AttributeProto *addAttribute(NodeProto &node) {
    AttributeProto *attribute = node.add_attribute();
    attribute->set_name("axis");
    attribute->set_type(AttributeProto::INT);
    const OnnxOp *row = findOnnxOp(node.op_type());
    auto specs = row ? attributesOf(*row) : llvm::SmallVector<AttributeSpec>();
    if (specs.empty())
      return attribute;
    const AttributeSpec &spec = specs[below(specs.size())];
    attribute->set_name(spec.name.str());
    attribute->set_type(spec.type == "I"   ? AttributeProto::INTS
                        : spec.type == "f" ? AttributeProto::FLOAT
                        : spec.type == "s" ? AttributeProto::STRING
                                           : AttributeProto::INT);
    return attribute;
  }

  void changeAttribute() {
    NodeProto *node = pick(graph.mutable_node());
    if (!node)
      return;
    AttributeProto *attribute = pick(node->mutable_attribute());
    if (!attribute || below(4) == 0) {
      attribute = addAttribute(*node);
    }
    switch (attribute->type()) {
    case AttributeProto::INT:
      attribute->set_i(number());
      break;
    case AttributeProto::FLOAT:
      attribute->set_f(real());
      break;
    case AttributeProto::INTS:
      if (attribute->ints_size() && below(3))
        attribute->set_ints(int(below(attribute->ints_size())), number());
      else
        attribute->add_ints(number());
      break;
    case AttributeProto::STRING: {
      static const char *const words[] = {
          "linear", "cubic",        "align_corners", "SAME_UPPER", "edge",
          "CRD",    "bij,bjk->bik", "i...,i->...",   "sum",        "?"};
      attribute->set_s(words[below(std::size(words))]);
      break;
    }
    default:
      node->mutable_attribute()->RemoveLast();
    }
  }

  void changeTensor() {
    onnx::TensorProto *tensor = pick(graph.mutable_initializer());
    if (!tensor)
      return;
    switch (below(4)) {
    case 0:
      if (tensor->dims_size())
        tensor->set_dims(int(below(tensor->dims_size())), number());
      break;
    case 1:
      tensor->add_dims(number());
      break;
    case 2:
      tensor->set_data_type(int(below(18)));
      break;
    default:
      if (tensor->int64_data_size())
        tensor->set_int64_data(int(below(tensor->int64_data_size())), number());
      else if (tensor->float_data_size())
        tensor->set_float_data(int(below(tensor->float_data_size())), real());
    }
  }

  void changeInput() {
    onnx::ValueInfoProto *input = pick(graph.mutable_input());
    if (!input)
      return;
    auto *type = input->mutable_type()->mutable_tensor_type();
    if (below(4) == 0) {
      type->set_elem_type(below(2) ? onnx::TensorProto::INT64
                                   : onnx::TensorProto::FLOAT);
      return;
    }
    auto *shape = type->mutable_shape();
    if (auto *dim = below(4) ? pick(shape->mutable_dim()) : nullptr)
      dim->set_dim_value(number());
    else
      shape->add_dim()->set_dim_value(number());
  }

  onnx::GraphProto &graph;
  std::minstd_rand random;
};
} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 16 == 0 || !model.ParseFromArray(data, int(size)))
    return LLVMFuzzerMutate(data, size, most);
  Mutator(*model.mutable_graph(), seed).mutate();
  size_t bytes = model.ByteSizeLong();
  if (bytes > most || !model.SerializeToArray(data, int(bytes)))
    return LLVMFuzzerMutate(data, size, most);
  return bytes;
}

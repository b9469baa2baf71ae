//===- OnnxMutator.cpp - A mutator that knows ONNX ------------------------===//
//
// Bytes changed at random are seldom a model. This changes the model, or a
// graph inside of it: nodes of any operator of the frontend's table are added,
// deleted, doubled, retyped, rewired and put into branches and loops; extents,
// attributes and elements become what arithmetic on them may not survive.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/OnnxValues.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {
using namespace lwcc;
using namespace lwcc::fuzz;
using onnx::GraphProto;

class Mutator : OnnxValues {
public:
  Mutator(onnx::ModelProto &model, unsigned seed)
      : OnnxValues(seed), model(model) {}

  void mutate() {
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      graph = someGraph();
      switch (below(14)) {
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
        addNode();
        break;
      case 5:
      case 6:
        rewire();
        break;
      case 7:
      case 8:
        changeAttribute();
        break;
      case 9:
      case 10:
        if (TensorProto *tensor = pick(graph->mutable_initializer()))
          changeTensor(*tensor);
        break;
      case 11:
        putInside();
        break;
      case 12:
        changeOpset();
        break;
      default:
        changeInput();
      }
    }
  }

private:
  std::string fresh() { return "fresh" + std::to_string(random()); }

  /// The model's graph, or one that a node has.
  GraphProto *someGraph() {
    GraphProto *found = model.mutable_graph();
    while (below(2)) {
      std::vector<GraphProto *> inner;
      for (NodeProto &node : *found->mutable_node())
        for (AttributeProto &attribute : *node.mutable_attribute())
          if (attribute.has_g())
            inner.push_back(attribute.mutable_g());
      if (inner.empty())
        break;
      found = inner[below(inner.size())];
    }
    return found;
  }

  /// The name of a value of the graph.
  std::string value() {
    size_t inputs = graph->input_size(), stored = graph->initializer_size();
    size_t at = below(inputs + stored + graph->node_size());
    if (at < inputs)
      return graph->input(int(at)).name();
    if (at < inputs + stored)
      return graph->initializer(int(at - inputs)).name();
    if (graph->node_size() == 0)
      return "";
    const NodeProto &node = graph->node(int(at - inputs - stored));
    return node.output_size() ? node.output(0) : "";
  }

  /// The name of a new one.
  std::string stored() {
    TensorProto &tensor = *graph->add_initializer();
    tensor.set_name(fresh());
    fill(tensor);
    return tensor.name();
  }
  std::string stored(TensorProto::DataType type, int64_t element) {
    TensorProto &tensor = *graph->add_initializer();
    tensor.set_name(fresh());
    tensor.set_data_type(type);
    if (type == TensorProto::INT64)
      tensor.add_int64_data(element);
    else
      tensor.add_int32_data(int32_t(element));
    return tensor.name();
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  void deleteNode() {
    if (graph->node_size() == 0)
      return;
    // Its users read what it read.
    int at = int(below(graph->node_size()));
    NodeProto gone = graph->node(at);
    graph->mutable_node()->DeleteSubrange(at, 1);
    if (gone.input_size() && gone.output_size())
      replaceReads(at, gone.output(0), gone.input(0));
  }

  /// In nodes from this one on.
  void replaceReads(int from, const std::string &old, const std::string &now) {
    for (int i = from; i < graph->node_size(); ++i)
      for (std::string &input : *graph->mutable_node(i)->mutable_input())
        if (input == old)
          input = now;
  }

  void insert(int at, NodeProto node) {
    *graph->add_node() = std::move(node);
    for (int i = graph->node_size() - 1; i > at; --i)
      graph->mutable_node()->SwapElements(i, i - 1);
  }

  /// Behind the node stands its twin, which the node's users read.
  void doubleNode() {
    if (graph->node_size() == 0)
      return;
    int at = int(below(graph->node_size()));
    NodeProto twin = graph->node(at);
    if (twin.output_size() == 0)
      return;
    std::string old = twin.output(0);
    twin.clear_output();
    twin.add_output(fresh());
    replaceReads(at + 1, old, twin.output(0));
    if (twin.input_size())
      twin.set_input(0, old);
    insert(at + 1, twin);
  }

  void retypeNode() {
    if (NodeProto *node = pick(graph->mutable_node())) {
      llvm::ArrayRef<OnnxOp> ops = onnxOps();
      node->set_op_type(ops[below(ops.size())].name.str());
      if (below(2))
        node->clear_attribute();
    }
  }

  /// A node of any operator behind another one, whose users read it.
  void addNode() {
    llvm::ArrayRef<OnnxOp> ops = onnxOps();
    const OnnxOp &op = ops[below(ops.size())];
    NodeProto node;
    node.set_op_type(op.name.str());
    const int at = int(below(graph->node_size() + 1));
    std::string old = at && graph->node(at - 1).output_size()
                          ? graph->node(at - 1).output(0)
                          : value();
    const int more = std::min(op.maxInputs - op.minInputs, 2);
    const int inputs = op.minInputs + int(below(more + 1));
    for (int i = 0; i < inputs; ++i)
      node.add_input(i == 0 ? old : below(2) ? stored() : value());
    for (size_t i = 1 + below(4) / 3; i > 0; --i)
      node.add_output(fresh());
    for (size_t i = below(3); i > 0; --i)
      (void)changeValue(*addAttribute(node));
    replaceReads(at, old, node.output(0));
    for (auto &output : *graph->mutable_output())
      if (output.name() == old)
        output.set_name(node.output(0));
    insert(at, node);
  }

  void rewire() {
    NodeProto *node = pick(graph->mutable_node());
    if (!node)
      return;
    switch (below(5)) {
    case 0:
      node->add_input(below(2) ? value() : stored());
      break;
    case 1:
      if (node->input_size())
        node->mutable_input()->RemoveLast();
      break;
    case 2:
      if (auto *output = pick(graph->mutable_output()))
        output->set_name(value());
      break;
    case 3:
      node->add_output(below(4) ? fresh() : value());
      break;
    default:
      if (std::string *input = pick(node->mutable_input()))
        *input = below(4) ? value() : below(2) ? stored() : "";
    }
  }

  /// The node becomes the branches of an If, or the body of a Loop.
  void putInside() {
    NodeProto *node = pick(graph->mutable_node());
    if (!node || node->output_size() == 0 || node->input_size() == 0)
      return;
    NodeProto inner = *node;
    node->Clear();
    node->add_output(inner.output(0));
    inner.set_output(0, fresh());
    auto addGraph = [&](const char *name) -> GraphProto & {
      AttributeProto &attribute = *node->add_attribute();
      attribute.set_name(name);
      attribute.set_type(AttributeProto::GRAPH);
      return *attribute.mutable_g();
    };
    if (below(2)) {
      node->set_op_type("If");
      node->add_input(stored(TensorProto::BOOL, int64_t(below(2))));
      for (const char *name : {"then_branch", "else_branch"}) {
        GraphProto &branch = addGraph(name);
        *branch.add_node() = inner;
        branch.add_output()->set_name(inner.output(0));
      }
      return;
    }
    node->set_op_type("Loop");
    node->add_input(stored(TensorProto::INT64, below(4) ? 2 : number()));
    node->add_input(below(2) ? stored(TensorProto::BOOL, 1) : "");
    node->add_input(inner.input(0));
    GraphProto &body = addGraph("body");
    for (const char *name : {"turn", "goes.on", "carried"})
      body.add_input()->set_name(name);
    inner.set_input(0, "carried");
    *body.add_node() = inner;
    body.add_output()->set_name("goes.on");
    body.add_output()->set_name(inner.output(0));
    if (below(2)) { // of each turn a row
      node->add_output(fresh());
      body.add_output()->set_name(below(2) ? "turn" : inner.output(0));
    }
  }

  //===--------------------------------------------------------------------===//
  // Attributes, inputs, the model
  //===--------------------------------------------------------------------===//

  void changeAttribute() {
    NodeProto *node = pick(graph->mutable_node());
    if (!node)
      return;
    AttributeProto *attribute = pick(node->mutable_attribute());
    if (!attribute || below(4) == 0)
      attribute = addAttribute(*node);
    if (attribute->type() == AttributeProto::GRAPH)
      changeInside(*node, *attribute->mutable_g());
    else if (!changeValue(*attribute))
      node->mutable_attribute()->RemoveLast();
  }

  /// Adds a copy of another node, whose output is one of the graph.
  void changeInside(const NodeProto &node, GraphProto &inside) {
    const NodeProto *other = pick(graph->mutable_node());
    if (!other || other == &node || other->output_size() == 0)
      return;
    *inside.add_node() = *other;
    inside.add_output()->set_name(other->output(0));
  }

  void changeOpset() {
    constexpr int64_t oldest = 7, newest = 25;
    if (auto *opset = pick(model.mutable_opset_import()))
      opset->set_version(
          below(16) ? oldest + int64_t(below(newest - oldest + 1)) : number());
  }

  void changeInput() {
    onnx::ValueInfoProto *input = pick(graph->mutable_input());
    if (!input)
      return;
    auto *type = input->mutable_type()->mutable_tensor_type();
    if (below(4) == 0) {
      type->set_elem_type(below(2) ? TensorProto::INT64 : TensorProto::FLOAT);
      return;
    }
    auto *shape = type->mutable_shape();
    auto *dim = below(4) ? pick(shape->mutable_dim()) : nullptr;
    dim = dim ? dim : shape->add_dim();
    if (below(8))
      dim->set_dim_value(number());
    else
      dim->set_dim_param("n");
  }

  onnx::ModelProto &model;
  GraphProto *graph = nullptr; ///< that is being changed
};
} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 16 == 0 || !model.ParseFromArray(data, int(size)))
    return LLVMFuzzerMutate(data, size, most);
  Mutator(model, seed).mutate();
  size_t bytes = model.ByteSizeLong();
  if (bytes > most || !model.SerializeToArray(data, int(bytes)))
    return LLVMFuzzerMutate(data, size, most);
  return bytes;
}

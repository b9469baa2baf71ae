//===- ExpandControlFlow.cpp - Nodes in place of branches and loops -------===//
//
// Writes the nodes of a branch, and copies of a body, into the graph. Values in
// there get names that the graph has not.
//
//===----------------------------------------------------------------------===//

#include "frontend/ControlFlow.h"
#include "ir/UniqueNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace lwcc;
using namespace llvm;
using mlir::LogicalResult;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// Most values that nodes make, and bytes of these nodes, that the loops of a
/// file become.
static constexpr int64_t mostValues = 1 << 14, mostNodeBytes = 1 << 30;

/// The values of a graph's nodes and of those in them.
static int64_t valuesOf(const GraphProto &graph) {
  int64_t count = 0;
  for (const NodeProto &node : graph.node()) {
    count += std::max(1, node.output_size());
    for (const auto &attribute : node.attribute())
      count += valuesOf(attribute.g());
  }
  return count;
}

using Names = StringMap<std::string>;

/// Gives a node's values their new names, also where graphs inside of it read
/// them.
static void rename(NodeProto &node, const Names &names) {
  auto replace = [](std::string &name, const Names &names) {
    if (auto found = names.find(name); found != names.end())
      name = found->second;
  };
  for (std::string &input : *node.mutable_input())
    replace(input, names);
  for (std::string &output : *node.mutable_output())
    replace(output, names);
  for (auto &attribute : *node.mutable_attribute()) {
    if (!attribute.has_g())
      continue;
    GraphProto &graph = *attribute.mutable_g();
    Names outer = names; // what the graph defines itself is its own
    for (const auto &input : graph.input())
      outer.erase(input.name());
    for (const auto &tensor : graph.initializer())
      outer.erase(tensor.name());
    for (const NodeProto &inner : graph.node())
      for (const std::string &output : inner.output())
        outer.erase(output);
    for (NodeProto &inner : *graph.mutable_node())
      rename(inner, outer);
    for (auto &output : *graph.mutable_output())
      replace(*output.mutable_name(), outer);
  }
}

namespace {
class Expansion {
public:
  Expansion(OnnxFile &file, Reporter &reporter)
      : file(file), graph(*file.model.mutable_graph()), reporter(reporter) {
    for (const auto &info : graph.input())
      taken.insert(info.name());
    for (const auto &tensor : graph.initializer())
      taken.insert(tensor.name());
    for (const NodeProto &node : graph.node())
      taken.insert(node.output().begin(), node.output().end());
  }

  LogicalResult run(const Decisions &decisions) {
    std::vector<const NodeProto *> old;
    for (const NodeProto &node : graph.node())
      old.push_back(&node);
    for (const NodeProto *node : old) {
      auto decision = decisions.find(node);
      if (decision == decisions.end())
        *nodes.Add() = *node;
      else if (node->op_type() == "If")
        branch(*node, decision->second);
      else if (node->op_type() == "SequenceMap")
        map(*node, decision->second);
      else
        unroll(*node, decision->second);
    }
    graph.mutable_node()->Swap(&nodes);
    return reporter.result();
  }

private:
  NodeProto &add(StringRef op, const std::string &name,
                 const std::string &output) {
    NodeProto &node = *nodes.Add();
    node.set_op_type(op.str());
    node.set_name(name);
    node.add_output(output);
    return node;
  }
  void identity(const std::string &from, const std::string &to) {
    if (!to.empty())
      add("Identity", to, to).add_input(from);
  }
  std::string constant(const std::string &wish, TensorProto value) {
    std::string name = taken.take(wish);
    auto *attribute = add("Constant", name, name).add_attribute();
    attribute->set_name("value");
    attribute->set_type(onnx::AttributeProto::TENSOR);
    *attribute->mutable_t() = std::move(value);
    return name;
  }
  static TensorProto integers(ArrayRef<int64_t> values, bool scalar) {
    TensorProto tensor;
    tensor.set_data_type(TensorProto::INT64);
    if (!scalar)
      tensor.add_dims(values.size());
    for (int64_t value : values)
      tensor.add_int64_data(value);
    return tensor;
  }

  /// The stored tensors of a body become the graph's.
  void hoist(const GraphProto &body, Names &names) {
    for (const TensorProto &tensor : body.initializer()) {
      std::string name = taken.take(tensor.name());
      names[tensor.name()] = name;
      TensorProto &mine = *graph.add_initializer();
      mine = tensor;
      mine.set_name(name);
    }
  }

  /// Appends a body's nodes, whose own values get new names.
  void inlineBody(const GraphProto &body, Names &names,
                  const std::string &suffix) {
    for (const NodeProto &node : body.node()) {
      for (const std::string &output : node.output())
        if (!output.empty())
          names[output] = taken.take(output + suffix);
      NodeProto &mine = *nodes.Add();
      mine = node;
      if (!mine.name().empty())
        mine.set_name(mine.name() + suffix);
      rename(mine, names);
    }
  }
  static std::string nameOf(const std::string &value, const Names &names) {
    auto found = names.find(value);
    return found == names.end() ? value : found->second;
  }

  void branch(const NodeProto &node, bool then) {
    NodeView view(node, file.opset);
    const auto *attribute =
        view.attribute(then ? "then_branch" : "else_branch");
    if (!attribute || attribute->g().output_size() < node.output_size()) {
      reporter.error(node) << "has a branch that does not fit its outputs: the "
                              "file is damaged";
      return;
    }
    Names names;
    hoist(attribute->g(), names);
    inlineBody(attribute->g(), names, "");
    for (auto [i, output] : enumerate(node.output()))
      identity(nameOf(attribute->g().output(int(i)).name(), names), output);
  }

  /// Counts copies of a body; false, reported, if these are too many.
  bool admit(const NodeProto &node, const GraphProto &body, int64_t turns) {
    int64_t size = std::max<int64_t>(1, valuesOf(body));
    int64_t bytes = std::max<int64_t>(1, body.ByteSizeLong());
    int64_t most = std::min((mostValues - made) / size,
                            (mostNodeBytes - madeBytes) / bytes);
    if (turns > most) {
      reporter.error(node) << "turns " << turns << " times; its body of "
                           << size << (size == 1 ? " value" : " values")
                           << " can be repeated " << most
                           << " times; export with fewer, or compute it with "
                              "tensors instead of a loop";
      return false;
    }
    made += turns * size;
    madeBytes += turns * bytes;
    return true;
  }

  /// A copy of the body for each of so many elements of a sequence.
  void map(const NodeProto &node, int64_t elements) {
    NodeView view(node, file.opset);
    const GraphProto &body = view.attribute("body")->g();
    if (!admit(node, body, elements))
      return;
    Names stored;
    hoist(body, stored);
    const std::string name = layerName(node).str();
    std::vector<std::vector<std::string>> results(node.output_size());
    for (int64_t i = 0; i < elements; ++i) {
      const std::string suffix = "." + std::to_string(i);
      const std::string element = taken.take(name + ".element" + suffix);
      const std::string place =
          constant(name + ".place" + suffix, integers({i}, true));
      NodeProto &at = add("SequenceAt", element, element);
      at.add_input(view.input(0).str());
      at.add_input(place);
      Names names = stored;
      names[body.input(0).name()] = element;
      for (unsigned j = 1; j < view.numInputs(); ++j)
        names[body.input(int(j)).name()] = view.input(j).str();
      inlineBody(body, names, suffix);
      for (auto [j, result] : enumerate(results))
        result.push_back(nameOf(body.output(int(j)).name(), names));
    }
    for (auto [j, output] : enumerate(node.output())) {
      if (output.empty())
        continue;
      NodeProto &list =
          add(elements ? "SequenceConstruct" : "SequenceEmpty", output, output);
      for (const std::string &result : results[j])
        list.add_input(result);
    }
  }

  void unroll(const NodeProto &node, int64_t turns) {
    NodeView view(node, file.opset);
    const GraphProto &body = view.attribute("body")->g();
    if (!admit(node, body, turns))
      return;
    Names stored;
    hoist(body, stored);
    std::vector<std::string> carried;
    for (unsigned i = 2; i < view.numInputs(); ++i)
      carried.push_back(view.input(i).str());
    std::string name = layerName(node).str();
    std::vector<std::vector<std::string>> stacked(body.output_size() - 1 -
                                                  carried.size());
    std::string condition = view.hasInput(1) ? view.input(1).str() : "";
    if (turns > 0 && condition.empty()) {
      TensorProto yes;
      yes.set_data_type(TensorProto::BOOL);
      yes.add_int32_data(1);
      condition = constant(name + ".condition", yes);
    }
    for (int64_t turn = 0; turn < turns; ++turn) {
      std::string suffix = "." + std::to_string(turn);
      Names names = stored;
      names[body.input(0).name()] =
          constant(name + ".turn" + suffix, integers({turn}, true));
      names[body.input(1).name()] = condition;
      for (auto [i, value] : enumerate(carried))
        names[body.input(int(i) + 2).name()] = value;
      inlineBody(body, names, suffix);
      for (auto [i, value] : enumerate(carried))
        value = nameOf(body.output(int(i) + 1).name(), names);
      for (auto [i, values] : enumerate(stacked))
        values.push_back(
            row(nameOf(body.output(int(i + carried.size()) + 1).name(), names),
                name + ".row" + suffix));
    }
    for (auto [i, output] : enumerate(node.output())) {
      if (i < carried.size())
        identity(carried[i], output);
      else if (!output.empty())
        stack(node, stacked[i - carried.size()], output);
    }
  }

  /// A value with a dimension in front, of which a stack is made.
  std::string row(const std::string &value, const std::string &wish) {
    std::string axes;
    if (file.opset >= 13)
      axes = constant(wish + ".axes", integers({0}, false));
    std::string name = taken.take(wish);
    NodeProto &node = add("Unsqueeze", name, name);
    node.add_input(value);
    if (!axes.empty()) {
      node.add_input(axes);
      return name;
    }
    auto *attribute = node.add_attribute();
    attribute->set_name("axes");
    attribute->set_type(onnx::AttributeProto::INTS);
    attribute->add_ints(0);
    return name;
  }

  void stack(const NodeProto &loop, ArrayRef<std::string> rows,
             const std::string &output) {
    if (rows.empty()) {
      reporter.error(loop) << "turns 0 times, so that its output '" << output
                           << "' has no elements";
      return;
    }
    NodeProto &node = add("Concat", output, output);
    for (const std::string &value : rows)
      node.add_input(value);
    auto *axis = node.add_attribute();
    axis->set_name("axis");
    axis->set_type(onnx::AttributeProto::INT);
    axis->set_i(0);
  }

  OnnxFile &file;
  GraphProto &graph;
  Reporter &reporter;
  UniqueNames taken;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  int64_t made = 0, madeBytes = 0; ///< of loops
};
} // namespace

LogicalResult lwcc::expandControlFlow(OnnxFile &file,
                                      const Decisions &decisions,
                                      Reporter &reporter) {
  return Expansion(file, reporter).run(decisions);
}

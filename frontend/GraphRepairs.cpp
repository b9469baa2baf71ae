//===- GraphRepairs.cpp - What exporters do to a graph is undone ----------===//

#include "frontend/GraphRepairs.h"
#include "frontend/Metadata.h"
#include "frontend/NodeView.h"
#include "frontend/Parameters.h"
#include "ir/UniqueNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace lwcc;
using namespace llvm;
using onnx::GraphProto;
using onnx::NodeProto;

/// Whether a node is another name of its input, which exporters write for tied
/// or equal tensors.
static bool isAlias(const NodeProto &node) {
  return node.op_type() == "Identity" && node.input_size() == 1 &&
         node.output_size() == 1 && !isExportedDetach(node);
}

/// Identity(initializer) is another name of the initializer.
static void resolveAliases(GraphProto &graph) {
  llvm::StringSet<> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  StringMap<std::string> aliases;
  for (NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (auto found = aliases.find(input); found != aliases.end())
        input = found->second;
    if (isAlias(node) && initializers.contains(node.input(0)))
      aliases[node.output(0)] = node.input(0);
  }
}

/// Gives each BatchNormalization running statistics of its own. Exporters merge
/// equal tensors; as each layer updates its mean and variance, one that is also
/// used elsewhere is copied under a new name.
static void splitSharedStatistics(GraphProto &graph) {
  StringMap<unsigned> uses;
  UniqueNames names;
  for (const NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      ++uses[input];
    names.insert(node.output().begin(), node.output().end());
  }
  StringMap<int> stored, made; // index of the initializer, of the node
  for (int i = 0; i < graph.initializer_size(); ++i) {
    stored[graph.initializer(i).name()] = i;
    names.insert(graph.initializer(i).name());
  }
  for (int i = 0; i < graph.node_size(); ++i)
    if (makesParameters(graph.node(i)))
      made[graph.node(i).output(0)] = i;

  std::vector<std::pair<int, NodeProto>> copies; // before which node
  for (int n = 0; n < graph.node_size(); ++n) {
    NodeProto &node = *graph.mutable_node(n);
    if (node.op_type() != "BatchNormalization" || node.input_size() < 5)
      continue;
    for (int slot : {3, 4}) {
      std::string old = node.input(slot);
      if (uses[old] < 2)
        continue;
      std::string wish = layerName(node).str() +
                         (slot == 3 ? ".running_mean" : ".running_var");
      if (auto found = stored.find(old); found != stored.end()) {
        std::string name = names.take(wish);
        onnx::TensorProto copy = graph.initializer(found->second);
        copy.set_name(name);
        *graph.add_initializer() = std::move(copy);
        node.set_input(slot, name);
      } else if (auto maker = made.find(old); maker != made.end()) {
        std::string name = names.take(wish);
        NodeProto copy = graph.node(maker->second);
        copy.set_output(0, name);
        copy.clear_name();
        copies.emplace_back(n + int(copies.size()), std::move(copy));
        node.set_input(slot, name);
      } else {
        continue;
      }
      --uses[old];
    }
  }
  if (copies.empty())
    return;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  auto copy = copies.begin();
  for (NodeProto &node : *graph.mutable_node()) {
    for (; copy != copies.end() && copy->first == nodes.size(); ++copy)
      *nodes.Add() = std::move(copy->second);
    *nodes.Add() = std::move(node);
  }
  graph.mutable_node()->Swap(&nodes);
}

/// The value that all elements of a tensor of floats have; none if they differ.
static std::optional<float> onlyValue(const OnnxFile &file,
                                      const onnx::TensorProto &tensor) {
  std::optional<int64_t> count =
      elementCount(Shape(tensor.dims().begin(), tensor.dims().end()));
  if (tensor.data_type() != onnx::TensorProto::FLOAT || !count || *count < 1)
    return std::nullopt;
  HostTensor values = decodeTensor(tensor, file.rawBytes(tensor));
  const float first = values.reals.front();
  return all_of(values.reals, [&](float each) { return each == first; })
             ? std::optional<float>(first)
             : std::nullopt;
}

void lwcc::separateEqualParameters(OnnxFile &file, Reporter &reporter) {
  GraphProto &graph = *file.model.mutable_graph();
  // The newer exporter notes of which call a node is: clone(), for instance.
  auto isCopy = [](const NodeProto &node) {
    return isAlias(node) && metadataOf(node).empty();
  };
  llvm::StringSet<> aliased; // most files have none
  for (const NodeProto &node : graph.node())
    if (isCopy(node))
      aliased.insert(node.input(0));
  if (file.model.producer_name() != "pytorch" ||
      none_of(graph.initializer(), [&](const auto &tensor) {
        return aliased.contains(tensor.name());
      }))
    return;
  // By shape and value. Where two are equal, equal ones were not joined.
  std::map<std::pair<std::vector<int64_t>, float>, unsigned> constants;
  StringMap<int> joined; // number of an initializer that is one of them
  for (auto [i, tensor] : enumerate(graph.initializer()))
    if (std::optional<float> value = onlyValue(file, tensor)) {
      std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
      if (++constants[{shape, *value}] > 1)
        return;
      joined[tensor.name()] = int(i);
    }
  auto isJoined = [&](const NodeProto &node) {
    return isCopy(node) && joined.contains(node.input(0));
  };
  SmallVector<std::string> names;
  for (const NodeProto &node : graph.node())
    if (isJoined(node)) {
      onnx::TensorProto own = graph.initializer(joined.lookup(node.input(0)));
      own.set_name(node.output(0));
      names.push_back(node.output(0));
      *graph.add_initializer() = std::move(own);
    }
  eraseFrom(*graph.mutable_node(), isJoined);
  if (!names.empty())
    reporter.note() << "had " << names.size()
                    << " parameters joined with others of the same values ("
                    << firstOf(names)
                    << "), as PyTorch's older exporter does unless told "
                       "training=torch.onnx.TrainingMode.TRAINING; each is "
                       "trained by itself";
}

void lwcc::repairGraph(GraphProto &graph) {
  resolveAliases(graph);
  splitSharedStatistics(graph);
}

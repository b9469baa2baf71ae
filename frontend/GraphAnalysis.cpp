//===- GraphAnalysis.cpp - What of an ONNX graph is trained ---------------===//

#include "frontend/GraphAnalysis.h"
#include "frontend/ControlFlow.h"
#include "frontend/OnnxOpTable.h"
#include "frontend/Parameters.h"
#include "frontend/Unsupported.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace lwcc;
using namespace llvm;
using mlir::failure;
using mlir::FailureOr;
using onnx::GraphProto;
using onnx::NodeProto;

static bool isLoss(const NodeProto &node) {
  return node.op_type() == "SoftmaxCrossEntropyLoss" ||
         node.op_type() == "NegativeLogLikelihoodLoss";
}

//===----------------------------------------------------------------------===//
// Repairs
//===----------------------------------------------------------------------===//

/// Identity(initializer), which exporters write for tied or equal tensors, is
/// another name of the initializer.
static void resolveAliases(GraphProto &graph) {
  StringSet<> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  StringMap<std::string> aliases;
  for (NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (auto found = aliases.find(input); found != aliases.end())
        input = found->second;
    if (node.op_type() == "Identity" && node.input_size() == 1 &&
        node.output_size() == 1 && initializers.contains(node.input(0)))
      aliases[node.output(0)] = node.input(0);
  }
}

/// A new name that contains the name of the node it is for.
static std::string uniqueName(StringSet<> &taken, const std::string &wish) {
  std::string name = wish;
  for (int i = 2; !taken.insert(name).second; ++i)
    name = wish + "." + std::to_string(i);
  return name;
}

/// Gives each BatchNormalization running statistics of its own. Exporters merge
/// equal tensors; as each layer updates its mean and variance, one that is also
/// used elsewhere is copied under a new name.
static void splitSharedStatistics(GraphProto &graph) {
  StringMap<unsigned> uses;
  StringSet<> names;
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
        std::string name = uniqueName(names, wish);
        onnx::TensorProto copy = graph.initializer(found->second);
        copy.set_name(name);
        *graph.add_initializer() = std::move(copy);
        node.set_input(slot, name);
      } else if (auto maker = made.find(old); maker != made.end()) {
        std::string name = uniqueName(names, wish);
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

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {
class Analysis {
public:
  Analysis(OnnxFile &file, const ImportOptions &options, Reporter &reporter)
      : graph(file.model.graph()), options(options), reporter(reporter) {
    result.file = &file;
  }

  FailureOr<OnnxGraph> run() {
    collectNames();
    if (failed(reporter.result()))
      return failure();
    chooseOutputs();
    if (failed(reporter.result()))
      return failure();
    std::vector<StringRef> roots = {result.logits};
    if (!result.loss.empty())
      roots.push_back(result.loss);
    StringSet<> needed = ancestors(roots);
    for (const NodeProto &node : graph.node())
      if (any_of(node.output(),
                 [&](const auto &name) { return needed.contains(name); }))
        result.nodes.push_back(&node);
    UnsupportedOperators unsupported;
    for (const NodeProto *node : result.nodes)
      if (NodeView view = result.view(*node); !unsupported.take(view))
        for (const std::string &problem : checkSupport(view))
          reporter.error(*node) << problem;
    unsupported.report(reporter);
    chooseInputs(needed);
    if (failed(reporter.result()))
      return failure();
    if (result.loss.empty() &&
        (options.loss == "auto" || options.loss == "cross-entropy"))
      absorbSoftmax();
    return std::move(result);
  }

private:
  void collectNames() {
    for (const auto &tensor : graph.initializer())
      if (!result.initializers.try_emplace(tensor.name(), &tensor).second)
        reporter.error() << "initializer '" << tensor.name()
                         << "' is there twice: the file is damaged";
    for (const NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        if (!output.empty() &&
            !result.producers.try_emplace(output, &node).second)
          reporter.error(node) << "makes '" << output
                               << "', which another node makes, too: the file "
                                  "is damaged";
    StringSet<> known;
    for (const auto &tensor : graph.initializer())
      known.insert(tensor.name());
    for (const auto &info : graph.input())
      known.insert(info.name());
    // In ONNX a node stands behind those that it reads; so there are no cycles.
    for (const NodeProto &node : graph.node()) {
      for (const std::string &input : node.input())
        if (!input.empty() && !known.contains(input))
          reporter.error(node) << "reads '" << input
                               << "', which no input, initializer or earlier "
                                  "node provides: the file is damaged";
      for (const std::string &output : node.output())
        known.insert(output);
    }
    for (const auto &output : graph.output())
      if (!known.contains(output.name()))
        reporter.error() << "has the output '" << output.name()
                         << "', which no node makes: the file is damaged";
  }

  const NodeProto *producer(StringRef value) const {
    auto found = result.producers.find(value);
    return found == result.producers.end() ? nullptr : found->second;
  }

  /// Names of `roots` and of all values that they are computed from.
  StringSet<> ancestors(ArrayRef<StringRef> roots) const {
    StringSet<> seen;
    SmallVector<StringRef> pending(roots);
    while (!pending.empty()) {
      StringRef value = pending.pop_back_val();
      if (value.empty() || !seen.insert(value).second)
        continue;
      if (const NodeProto *node = producer(value))
        forEachRead(*node,
                    [&](const std::string &name) { pending.push_back(name); });
    }
    return seen;
  }

  const NodeProto *lossBehind(StringRef output) const {
    StringSet<> values = ancestors({output});
    const NodeProto *found = nullptr;
    for (const NodeProto &node : graph.node()) {
      if (!isLoss(node) || node.output_size() == 0 || node.input_size() < 2 ||
          !values.contains(node.output(0)))
        continue;
      bool onOutput = any_of(graph.output(), [&](const auto &info) {
        return info.name() == node.input(0);
      });
      if (!found || onOutput)
        found = &node;
      if (onOutput)
        break;
    }
    return found;
  }

  void chooseOutputs() {
    SmallVector<StringRef> plain;
    const NodeProto *lossNode = nullptr;
    for (const auto &output : graph.output()) {
      const NodeProto *found = lossBehind(output.name());
      if (!found) {
        plain.push_back(output.name());
      } else if (!lossNode) {
        lossNode = found;
        result.loss = output.name();
      }
    }
    if (graph.output_size() == 0) {
      reporter.error() << "has no output to train";
    } else if (lossNode && !options.output.empty()) {
      reporter.error(*lossNode)
          << "is a loss, which says what is trained; --output is for files "
             "without one";
    } else if (lossNode) {
      result.logits = lossNode->input(0);
      const NodeProto *log = producer(result.logits);
      if (lossNode->op_type() == "NegativeLogLikelihoodLoss" && log &&
          log->op_type() == "LogSoftmax" && log->input_size() == 1)
        result.logits = log->input(0);
      labelsValue = lossNode->input(1);
      if (options.loss != "auto")
        result.loss.clear();
      else
        result.lossNode = lossNode;
    } else {
      chooseOutput(plain);
    }
  }

  /// Of outputs without a loss.
  void chooseOutput(ArrayRef<StringRef> outputs) {
    auto list = [&](auto &diagnostic) {
      interleaveComma(outputs, diagnostic, [&](StringRef name) {
        diagnostic << "'" << name << "'";
      });
    };
    StringRef chosen = options.output;
    if (chosen.empty() && outputs.size() == 1)
      chosen = outputs.front();
    if (is_contained(outputs, chosen)) {
      result.logits = chosen.str();
      if (outputs.size() > 1)
        reporter.note() << "output '" << chosen << "' of " << outputs.size()
                        << " is trained; what only the others need is left "
                           "as it is";
      return;
    }
    auto diagnostic = reporter.error();
    if (!chosen.empty()) {
      diagnostic << "has no output '" << chosen << "' (--output); it has ";
      list(diagnostic);
      diagnostic << ". -o names the file that is written";
      return;
    }
    diagnostic << "has " << outputs.size() << " outputs (";
    list(diagnostic);
    diagnostic << ") and no loss; lwcc trains one: --output=NAME says which. "
                  "Or export the model with its loss in forward()";
  }

  /// The graph input that a value is a cast or reshape of; null if none.
  const onnx::ValueInfoProto *inputBehind(StringRef value) const {
    static const StringSet<> movers = {"Cast",    "Identity", "Reshape",
                                       "Flatten", "Squeeze",  "Unsqueeze"};
    while (const NodeProto *node = producer(value)) {
      if (!movers.contains(node->op_type()) || node->input_size() == 0)
        return nullptr;
      value = node->input(0);
    }
    for (const auto &info : graph.input())
      if (info.name() == value)
        return &info;
    return nullptr;
  }

  void chooseInputs(const StringSet<> &needed) {
    if (!result.loss.empty()) {
      result.labels = inputBehind(labelsValue);
      if (!result.labels)
        reporter.error(*result.lossNode)
            << "computes a loss whose labels are not an input of the graph; "
               "pass the class indices as an input of forward()";
    }
    for (const auto &info : graph.input())
      if (&info != result.labels && needed.contains(info.name()) &&
          !result.initializers.contains(info.name()))
        result.inputs.push_back(&info);
    if (result.inputs.empty())
      reporter.error() << "has no input that its output depends on";
  }

  /// A Softmax or LogSoftmax at the very end is part of the cross entropy that
  /// a pass will add, whatever only moves the elements behind it.
  void absorbSoftmax() {
    static const StringSet<> movers = {"Identity", "Flatten", "Reshape",
                                       "Squeeze", "Cast"};
    StringMap<unsigned> uses;
    for (const NodeProto *node : result.nodes)
      for (const std::string &input : node->input())
        ++uses[input];
    StringRef value = result.logits;
    while (const NodeProto *node = producer(value)) {
      if (uses.lookup(value) > (value == result.logits ? 0u : 1u) ||
          node->input_size() == 0)
        return;
      if (node->op_type() == "Softmax" || node->op_type() == "LogSoftmax") {
        result.absorbed = node;
        return;
      }
      if (!movers.contains(node->op_type()))
        return;
      value = node->input(0);
    }
  }

  const GraphProto &graph;
  const ImportOptions &options;
  Reporter &reporter;
  OnnxGraph result;
  std::string labelsValue;
};
} // namespace

FailureOr<OnnxGraph> lwcc::analyzeGraph(OnnxFile &file,
                                        const ImportOptions &options,
                                        Reporter &reporter) {
  resolveAliases(*file.model.mutable_graph());
  splitSharedStatistics(*file.model.mutable_graph());
  return Analysis(file, options, reporter).run();
}

//===- Parameters.cpp - Which tensors of a file are trained ---------------===//

#include "frontend/Parameters.h"
#include "frontend/ClassicModels.h"
#include "frontend/ControlFlow.h"
#include "frontend/Metadata.h"
#include "frontend/OnnxOpTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace lwcc;
using namespace llvm;
using onnx::NodeProto;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// What PyTorch's exporter says
//===----------------------------------------------------------------------===//

namespace {
/// PARAMETER and BUFFER tensors by the names of torch.export's signature.
struct Signature {
  bool present = false;
  llvm::StringSet<> parameters, buffers;
  llvm::StringSet<> targets;      ///< all parameters of the module
  SmallVector<std::string> lost;  ///< those that the file does not have
  StringMap<std::string> changed; ///< buffers, and the values they become

  explicit Signature(const OnnxGraph &graph) {
    const auto &proto = graph.file->model.graph();
    for (const auto &info : proto.value_info()) {
      StringMap<std::string> metadata = metadataOf(info);
      auto kind =
          metadata.find("pkg.torch.export.graph_signature.InputSpec.kind");
      if (kind == metadata.end())
        continue;
      present = true;
      (kind->second == "PARAMETER" ? parameters : buffers).insert(info.name());
    }
    std::string text =
        metadataOf(proto)["pkg.torch.export.ExportedProgram.graph_signature"];
    for (StringRef line : split(text, '\n')) {
      auto [value, buffer] = line.split(": BUFFER_MUTATION target='");
      if (!buffer.empty())
        changed[buffer.split('\'').first] = value.trim().str();
      auto [head, rest] = line.split(": PARAMETER target='");
      StringRef name = rest.split('\'').first;
      if (name.empty())
        continue;
      targets.insert(name);
      if (!graph.initializers.contains(name))
        lost.push_back(name.str());
    }
    present |= !text.empty();
  }

  /// Whether a tensor is none of the module's parameters, nor what one of them
  /// was folded into: then the file would lack that one.
  bool excludes(StringRef name) const {
    return !targets.empty() && lost.empty() && !targets.contains(name);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

bool lwcc::makesParameters(const NodeProto &node) {
  static const llvm::StringSet<> makers = {
      "Constant",         "ConstantOfShape", "RandomNormal",
      "RandomNormalLike", "RandomUniform",   "RandomUniformLike"};
  return makers.contains(node.op_type()) && node.output_size() == 1;
}

bool lwcc::drawsRandomNumbers(const NodeProto &node) {
  return StringRef(node.op_type()).starts_with("Random") ||
         node.op_type() == "Bernoulli";
}

bool lwcc::isKerasStatistic(StringRef name) {
  return name.ends_with("/moving_mean") || name.ends_with("/moving_variance");
}

/// Whether an input can only be a parameter, such as the weight of a Conv. Some
/// exporters write weights as Constant nodes; at such an input these are
/// trained.
static bool isWeightInput(const NodeProto &node, int input) {
  static const llvm::StringSet<> layers = {"Conv", "Gemm", "MatMul",
                                           "BatchNormalization"};
  return input > 0 && layers.contains(node.op_type());
}
static bool isStatisticInput(const NodeProto &node, int input) {
  return input >= 3 && node.op_type() == "BatchNormalization";
}

namespace {
class Collector {
public:
  Collector(const OnnxGraph &graph) : graph(graph), signature(graph) {}

  Leaves run(Reporter &reporter) {
    findGradientFlow();
    for (const NodeProto *node : graph.nodes)
      for (const std::string &input : node->input())
        if (!input.empty() && !leaves.contains(input))
          addLeaf(input);
    if (graph.nodes.empty() && graph.initializers.contains(graph.logits))
      addLeaf(graph.logits);
    if (!signature.lost.empty())
      warnAboutLoss(reporter);
    return std::move(leaves);
  }

private:
  /// Marks the values that a gradient reaches, walking the nodes backward.
  /// Where it reaches a result of a node, it reaches the node's differentiable
  /// inputs.
  void findGradientFlow() {
    if (graph.loss.empty())
      for (StringRef head : graph.heads())
        differentiable.insert(head);
    else
      differentiable.insert(graph.loss);
    for (const NodeProto *node : reverse(graph.nodes)) {
      const OnnxOp *op = findOnnxOp(node->op_type());
      bool reached = any_of(node->output(), [&](const std::string &output) {
        return differentiable.contains(output);
      });
      for (int i = 0; i < node->input_size(); ++i) {
        const std::string &input = node->input(i);
        if (isStatisticInput(*node, i))
          statistics.insert(input);
        if (isWeightInput(*node, i) && !standsForNone(*node, i))
          weights.insert(input);
        if (reached && op->isDifferentiable(i) && flowsThrough(*node))
          differentiable.insert(input);
      }
      // What is in its place later may read all of these.
      if (reached &&
          (op->name == "If" || op->name == "Loop" || op->name == "SequenceMap"))
        forEachRead(*node, [&](const std::string &name) {
          differentiable.insert(name);
        });
    }
  }

  /// Whether ones or zeros are there since a normalization has no scale or
  /// bias, which PyTorch's exporters write where it is not affine.
  bool standsForNone(const NodeProto &node, int input) const {
    const std::string &name = node.input(input);
    if (node.op_type() != "BatchNormalization")
      return false;
    const NodeProto *made = graph.producers.lookup(name);
    if (!made)
      return signature.excludes(name);
    if (made->op_type() != "Constant" ||
        graph.file->model.producer_name() != "pytorch")
      return false;
    const TensorProto *value = graph.view(*made).tensor("value");
    if (!value || elementKind(value->data_type()) != HostTensor::Kind::real)
      return false;
    HostTensor decoded = decodeTensor(*value, graph.file->rawBytes(*value));
    return all_of(decoded.reals,
                  [&](double real) { return real == (input == 1); });
  }

  bool flowsThrough(const NodeProto &node) const {
    return node.op_type() != "Cast" ||
           elementKind(int32_t(graph.view(node).integer("to", 0))) ==
               HostTensor::Kind::real;
  }

  void addLeaf(StringRef name) {
    Leaf leaf;
    leaf.name = name.str();
    auto stored = graph.initializers.find(name);
    auto made = graph.producers.find(name);
    if (stored != graph.initializers.end()) {
      const TensorProto &tensor = *stored->second;
      if (elementKind(tensor.data_type()) != HostTensor::Kind::real)
        return;
      leaf.tensor = &tensor;
      leaf.shape.assign(tensor.dims().begin(), tensor.dims().end());
    } else if (made == graph.producers.end() ||
               !makeLeaf(*made->second, leaf)) {
      return;
    }
    leaf.role = roleOf(leaf);
    if (auto changed = signature.changed.find(name);
        changed != signature.changed.end() && leaf.role == Role::constant) {
      leaf.becomes = changed->second;
      leaf.role = Role::statistic;
    }
    leaves.try_emplace(name, std::move(leaf));
  }

  Role roleOf(const Leaf &leaf) const {
    if (statistics.contains(leaf.name) || isKerasStatistic(leaf.name))
      return Role::statistic;
    if (!differentiable.contains(leaf.name) ||
        signature.buffers.contains(leaf.name))
      return Role::constant;
    // A weight of a layer may have been added to the file by other tools.
    if (signature.excludes(leaf.name) && !weights.contains(leaf.name))
      return Role::constant;
    if (graph.file->model.producer_name() == classicProducer)
      return isClassicWeight(leaf.name) ? Role::trainable : Role::constant;
    // Most exporters store the numbers of expressions as initializers, too.
    // PyTorch's newer one says which are parameters; its older one writes
    // numbers as Constant nodes, so that there a scalar is a parameter.
    bool older =
        graph.file->model.producer_name() == "pytorch" && !signature.present;
    if (leaf.shape.empty() && !older &&
        !signature.parameters.contains(leaf.name))
      return Role::constant;
    return Role::trainable;
  }

  /// Makes `leaf` the parameter that a node makes (RandomNormal,
  /// ConstantOfShape and others). False if no gradient reaches it: then the
  /// node computes a shape, or draws the random numbers of a dropout. Exporters
  /// of frameworks store all parameters: there it draws noise.
  bool makeLeaf(const NodeProto &node, Leaf &leaf) {
    if (!makesParameters(node) || (!differentiable.contains(leaf.name) &&
                                   !statistics.contains(leaf.name)))
      return false;
    StringRef producer = graph.file->model.producer_name();
    if (drawsRandomNumbers(node) &&
        (producer == "pytorch" || producer == "tf2onnx"))
      return false;
    NodeView view = graph.view(node);
    if (view.op() == "Constant") {
      const TensorProto *value = view.tensor("value");
      if (!weights.contains(leaf.name) || !value ||
          elementKind(value->data_type()) != HostTensor::Kind::real ||
          value->dims_size() == 0)
        return false;
      leaf.tensor = value;
      leaf.shape.assign(value->dims().begin(), value->dims().end());
      return true;
    }
    std::optional<Shape> shape = madeShape(view);
    if (!shape || shape->empty() || shape->size() > maxKnownRank ||
        !elementCount(*shape))
      return false;
    leaf.shape = *shape;
    if (view.op() == "ConstantOfShape") {
      leaf.maker = "constant";
      const TensorProto *value = view.tensor("value");
      if (!value)
        return true;
      if (elementKind(value->data_type()) != HostTensor::Kind::real)
        return false;
      HostTensor decoded = decodeTensor(*value, graph.file->rawBytes(*value));
      leaf.a = decoded.size() == 1 ? decoded.reals[0] : 0;
      return decoded.size() == 1;
    }
    bool normal = view.op().starts_with("RandomNormal");
    leaf.maker = normal ? "normal" : "uniform";
    leaf.a = normal ? view.real("mean", 0) : view.real("low", 0);
    leaf.b = normal ? view.real("scale", 1) : view.real("high", 1);
    return true;
  }

  /// The shape of a maker's result where the file states it outright. A shape
  /// that is computed from other tensors makes a constant, not a parameter.
  std::optional<Shape> madeShape(const NodeView &view) {
    if (view.has("shape"))
      return view.integers("shape");
    if (view.numInputs() == 0)
      return std::nullopt;
    StringRef donor = view.input(0);
    if (view.op().ends_with("Like")) {
      if (!leaves.contains(donor))
        addLeaf(donor);
      auto leaf = leaves.find(donor);
      return leaf == leaves.end() ? std::nullopt
                                  : std::optional<Shape>(leaf->second.shape);
    }
    const TensorProto *tensor = graph.initializers.lookup(donor);
    if (const NodeProto *node = graph.producers.lookup(donor)) {
      if (node->op_type() != "Constant")
        return std::nullopt;
      NodeView constant = graph.view(*node);
      if (std::optional<Shape> values = constant.integers("value_ints"))
        return values;
      tensor = constant.tensor("value");
    }
    if (!tensor ||
        elementKind(tensor->data_type()) != HostTensor::Kind::integer)
      return std::nullopt;
    HostTensor values = decodeTensor(*tensor, graph.file->rawBytes(*tensor));
    return Shape(values.integers.begin(), values.integers.end());
  }

  void warnAboutLoss(Reporter &reporter) {
    reporter.warning()
        << "does not have " << signature.lost.size()
        << " of the parameters of the PyTorch module that it was made from ("
        << firstOf(signature.lost)
        << "): the exporter folded or merged them, so that another model is "
           "trained. Export with torch.onnx.export(model.train(), ..., "
           "optimize=False)";
  }

  const OnnxGraph &graph;
  Signature signature;
  llvm::StringSet<> differentiable, statistics, weights;
  Leaves leaves;
};
} // namespace

Leaves lwcc::collectLeaves(const OnnxGraph &graph, Reporter &reporter) {
  return Collector(graph).run(reporter);
}

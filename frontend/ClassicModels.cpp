//===- ClassicModels.cpp - Linear models of scikit-learn ------------------===//

#include "frontend/ClassicModels.h"
#include "frontend/GraphRepairs.h"
#include "frontend/NodeView.h"
#include "frontend/Reporter.h"
#include "ir/UniqueNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>
#include <cstring>

using namespace lwcc;
using namespace llvm;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

bool lwcc::isClassicWeight(StringRef name) {
  return name.contains("coef") || name.contains("intercept");
}

bool lwcc::isRegressor(const onnx::ModelProto &model) {
  return model.producer_name() == classicProducer &&
         model.graph().output_size() == 1;
}

namespace {
class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    for (const TensorProto &tensor : graph.initializer()) {
      taken.insert(tensor.name());
      stored[tensor.name()] = &tensor;
    }
    for (const auto &info : graph.input())
      taken.insert(info.name());
    for (const auto &output : graph.output())
      read.insert(output.name());
    for (const NodeProto &node : graph.node()) {
      taken.insert(node.output().begin(), node.output().end());
      read.insert(node.input().begin(), node.input().end());
      for (const std::string &output : node.output())
        makers[output] = &node;
    }
  }

  void run() {
    google::protobuf::RepeatedPtrField<NodeProto> old;
    old.Swap(graph.mutable_node());
    for (const NodeProto &node : old)
      if (!replace(node))
        *graph.add_node() = node;
    for (TensorProto &tensor : added)
      *graph.add_initializer() = std::move(tensor);
  }

private:
  /// Writes what stands for a node; false if that is the node itself.
  bool replace(const NodeProto &node) {
    if (node.domain().empty())
      return replaceTwoClasses(node);
    if (node.domain() != classicDomain || node.input_size() != 1 ||
        node.output_size() == 0)
      return false;
    return node.op_type() == "LinearRegressor"    ? replaceRegressor(node)
           : node.op_type() == "LinearClassifier" ? replaceClassifier(node)
           : node.op_type() == "Scaler"           ? replaceScaler(node)
           : node.op_type() == "Normalizer"       ? replaceNormalizer(node)
                                                  : false;
  }

  //===--- Making nodes ---------------------------------------------------===//

  NodeProto &add(StringRef op, ArrayRef<std::string> inputs,
                 const std::string &output) {
    NodeProto &node = *graph.add_node();
    node.set_op_type(op.str());
    node.set_name(taken.take(output + "." + op.lower()));
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }
  static void set(NodeProto &node, StringRef name, int64_t value) {
    AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
  }
  static TensorProto numbers(ArrayRef<float> values, ArrayRef<int64_t> shape) {
    TensorProto tensor;
    tensor.set_data_type(TensorProto::FLOAT);
    for (int64_t extent : shape)
      tensor.add_dims(extent);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  std::string store(TensorProto tensor, const std::string &wish) {
    tensor.set_name(taken.take(wish));
    added.push_back(std::move(tensor));
    return added.back().name();
  }
  /// A tensor that is not trained.
  std::string constant(TensorProto tensor, const std::string &wish) {
    std::string name = taken.take(wish);
    AttributeProto &value = *add("Constant", {}, name).add_attribute();
    value.set_name("value");
    value.set_type(AttributeProto::TENSOR);
    *value.mutable_t() = std::move(tensor);
    return name;
  }
  std::string fresh(const std::string &wish) { return taken.take(wish); }

  //===--- Operators ------------------------------------------------------===//

  static ArrayRef<float> floats(const NodeProto &node, StringRef name) {
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return {attribute.floats().data(), size_t(attribute.floats_size())};
    return {};
  }

  /// Rows [first, first + rows) of a linear model, all of which are `of`.
  void addLinear(const NodeProto &node, size_t first, size_t rows, size_t of,
                 const std::string &output) {
    ArrayRef<float> weights = floats(node, "coefficients"),
                    biases = floats(node, "intercepts");
    const size_t features = weights.size() / of;
    std::string name = layerName(node).str();
    std::string inputs[] = {
        node.input(0),
        store(numbers(weights.slice(first * features, rows * features),
                      {int64_t(rows), int64_t(features)}),
              name + ".coefficients"),
        biases.empty()
            ? std::string()
            : store(numbers(biases.slice(first, rows), {int64_t(rows)}),
                    name + ".intercepts")};
    NodeProto &product =
        add("Gemm", ArrayRef(inputs).drop_back(biases.empty()), output);
    product.set_name(name);
    set(product, "transB", 1);
  }
  /// Whether weights are there for so many rows.
  static bool hasRows(const NodeProto &node, size_t rows) {
    ArrayRef<float> weights = floats(node, "coefficients"),
                    biases = floats(node, "intercepts");
    return rows > 0 && !weights.empty() && weights.size() % rows == 0 &&
           (biases.empty() || biases.size() == rows);
  }
  static StringRef transformOf(const NodeProto &node) {
    return NodeView(node, 1).text("post_transform", "NONE");
  }

  bool replaceRegressor(const NodeProto &node) {
    const int64_t targets = NodeView(node, 1).integer("targets", 1);
    if (targets < 1 || !hasRows(node, targets) || transformOf(node) != "NONE")
      return false;
    addLinear(node, 0, targets, targets, node.output(0));
    return true;
  }

  bool replaceClassifier(const NodeProto &node) {
    const AttributeProto *ints =
                             NodeView(node, 1).attribute("classlabels_ints"),
                         *strings =
                             NodeView(node, 1).attribute("classlabels_strings");
    TensorProto labels;
    labels.set_data_type(strings ? TensorProto::STRING : TensorProto::INT64);
    if (strings)
      *labels.mutable_string_data() = strings->strings();
    else if (ints)
      *labels.mutable_int64_data() = ints->ints();
    const size_t classes = strings ? strings->strings_size()
                           : ints  ? ints->ints_size()
                                   : 0;
    const StringRef transform = transformOf(node);
    const bool isOneModel = transform == "LOGISTIC" && classes == 2 &&
                            hasRows(node, 2) && areOpposite(node);
    if (node.output_size() != 2 || classes < 2 || !hasRows(node, classes) ||
        !(isOneModel || transform == "NONE" || transform == "SOFTMAX"))
      return false;
    std::string scores = node.output(1);
    if (scores.empty())
      scores = fresh(layerName(node).str() + ".scores");
    if (isOneModel) {
      std::string one = fresh(scores + ".of_second");
      addLinear(node, 1, 1, 2, one);
      addTwoClasses(one, scores);
    } else if (transform == "SOFTMAX") {
      std::string raw = fresh(scores + ".raw");
      addLinear(node, 0, classes, classes, raw);
      set(add("Softmax", {raw}, scores), "axis", 1);
    } else {
      addLinear(node, 0, classes, classes, scores);
    }
    if (transform != "NONE")
      softmaxes.insert(scores);
    if (read.contains(node.output(0))) {
      std::string best = fresh(node.output(0) + ".number");
      NodeProto &search = add("ArgMax", {scores}, best);
      set(search, "axis", 1);
      set(search, "keepdims", 0);
      labels.add_dims(int64_t(classes));
      add("Gather",
          {store(std::move(labels), node.output(0) + ".classes"), best},
          node.output(0));
    }
    return true;
  }
  /// Whether the second of two rows is the first with the other sign: one
  /// model, written for both classes.
  static bool areOpposite(const NodeProto &node) {
    return all_of(std::array{"coefficients", "intercepts"}, [&](auto *name) {
      ArrayRef<float> both = floats(node, name);
      const size_t half = both.size() / 2;
      return all_of(seq<size_t>(0, half),
                    [&](size_t i) { return both[i] == -both[half + i]; });
    });
  }

  /// The probabilities of two classes, [1 - sigmoid(score), sigmoid(score)].
  void addTwoClasses(const std::string &score, const std::string &output) {
    std::string both[2];
    for (auto [half, name] : zip_equal(std::array{-0.5F, 0.5F}, both)) {
      std::string factor = constant(numbers({half}, {}), output + ".half");
      name = fresh(output + ".score");
      add("Mul", {score, factor}, name);
    }
    std::string raw = fresh(output + ".raw");
    set(add("Concat", both, raw), "axis", 1);
    set(add("Softmax", {raw}, output), "axis", 1);
  }
  /// Concat(1 - p, p) of a Sigmoid p.
  bool replaceTwoClasses(const NodeProto &node) {
    if (node.op_type() != "Concat" || node.input_size() != 2 ||
        node.output_size() != 1)
      return false;
    const NodeProto *rest = makers.lookup(node.input(0)),
                    *sigmoid = makers.lookup(node.input(1));
    const int64_t axis = NodeView(node, 1).integer("axis", 0);
    if (!rest || rest->op_type() != "Sub" || rest->input_size() != 2 ||
        rest->input(1) != node.input(1) || !isOne(rest->input(0)) || !sigmoid ||
        sigmoid->op_type() != "Sigmoid" || sigmoid->input_size() != 1 ||
        axis != 1)
      return false;
    addTwoClasses(sigmoid->input(0), node.output(0));
    return true;
  }
  bool isOne(StringRef name) const {
    const TensorProto *tensor = stored.lookup(name);
    if (!tensor || tensor->data_type() != TensorProto::FLOAT)
      return false;
    float value = 0;
    if (tensor->float_data_size() == 1)
      value = tensor->float_data(0);
    else if (tensor->raw_data().size() == sizeof value)
      std::memcpy(&value, tensor->raw_data().data(), sizeof value);
    return value == 1;
  }

  /// (x - offset) * scale, each one number or one for each feature.
  bool replaceScaler(const NodeProto &node) {
    ArrayRef<float> offset = floats(node, "offset"),
                    scale = floats(node, "scale");
    if (offset.empty() || scale.empty())
      return false;
    auto tensor = [&](ArrayRef<float> values, StringRef suffix) {
      return constant(numbers(values, {int64_t(values.size())}),
                      (layerName(node) + suffix).str());
    };
    std::string by = tensor(offset, ".offset"), times = tensor(scale, ".scale"),
                centred = fresh(node.output(0) + ".centred");
    add("Sub", {node.input(0), by}, centred);
    add("Mul", {centred, times}, node.output(0));
    return true;
  }

  bool replaceNormalizer(const NodeProto &node) {
    StringRef norm = NodeView(node, 1).text("norm", "MAX");
    if (norm == "L1" && softmaxes.contains(node.input(0))) { // 1 already
      add("Identity", {node.input(0)}, node.output(0));
      return true;
    }
    if (norm != "L1" && norm != "L2")
      return false;
    NodeProto &made = add("LpNormalization", {node.input(0)}, node.output(0));
    set(made, "axis", 1);
    set(made, "p", norm == "L1" ? 1 : 2);
    return true;
  }

  onnx::GraphProto &graph;
  UniqueNames taken;
  llvm::StringSet<> read;
  StringMap<const TensorProto *> stored;
  StringMap<const NodeProto *> makers;
  std::vector<TensorProto> added;
  llvm::StringSet<> softmaxes; ///< scores of classes, which add up to 1
};
} // namespace

void lwcc::rewriteClassicModels(onnx::ModelProto &model) {
  if (model.producer_name() == classicProducer)
    Rewriter(*model.mutable_graph()).run();
}

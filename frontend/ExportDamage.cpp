//===- ExportDamage.cpp - What an export left out -------------------------===//

#include "frontend/ExportDamage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace lwcc;
using namespace llvm;
using onnx::NodeProto;

namespace {
class Search {
public:
  Search(const OnnxGraph &graph, const Leaves &leaves)
      : graph(graph), leaves(leaves) {
    for (const NodeProto *node : graph.nodes)
      for (const std::string &input : node->input())
        readers[input].push_back(node);
  }

  /// Convolutions whose weights PyTorch's older exporter computed: such weights
  /// have names like onnx::Conv_193 in place of their own.
  std::vector<std::string> computedConvolutions() const {
    std::vector<std::string> names;
    for (const NodeProto *node : graph.nodes)
      if (StringRef(node->op_type()).starts_with("Conv") &&
          node->input_size() > 1 && isTrained(node->input(1)) &&
          StringRef(node->input(1)).starts_with("onnx::"))
        names.push_back(layerName(*node).str());
    return names;
  }

  /// Layers of TensorFlow whose batch normalization is no more than a factor
  /// and a summand, or part of the layer ahead of it.
  std::vector<std::string> foldedNorms() const {
    llvm::StringSet<> computed; // which have the statistics of the batch
    std::vector<std::string> names;
    llvm::StringSet<> seen;
    for (const NodeProto *node : graph.nodes)
      for (StringRef output : node->output())
        if (output.contains("/moments/"))
          computed.insert(output.take_front(output.find("/moments/")));
    for (const NodeProto *node : graph.nodes)
      for (StringRef output : node->output())
        for (StringRef part : {"/batchnorm/", "/FusedBatchNorm"}) {
          StringRef layer = output.take_front(output.find(part));
          if (layer.size() < output.size() &&
              node->op_type() != "BatchNormalization" &&
              !computed.contains(layer) && seen.insert(layer).second)
            names.push_back(layer.str());
        }
    return names;
  }

  /// Layers of TensorFlow that have a weight and no bias behind it.
  std::vector<std::string> withoutBias() const {
    std::vector<std::string> names;
    for (const NodeProto *node : graph.nodes) {
      const bool isConv = StringRef(node->op_type()).starts_with("Conv");
      if ((!isConv && node->op_type() != "MatMul") || node->input_size() < 2 ||
          !isTrained(node->input(1)) || node->output_size() == 0 ||
          (isConv && node->input_size() > 2))
        continue;
      auto behind = readers.find(node->output(0));
      const bool isAdded =
          behind != readers.end() && any_of(behind->second, [&](auto *reader) {
            return reader->op_type() == "BatchNormalization" ||
                   (reader->op_type() == "Add" &&
                    any_of(reader->input(), [&](const std::string &input) {
                      return isTrained(input);
                    }));
          });
      if (!isAdded)
        names.push_back(layerName(*node).str());
    }
    return names;
  }

private:
  bool isTrained(StringRef name) const {
    auto leaf = leaves.find(name);
    return leaf != leaves.end() && leaf->second.role == Role::trainable;
  }

  const OnnxGraph &graph;
  const Leaves &leaves;
  StringMap<SmallVector<const NodeProto *, 1>> readers;
};
} // namespace

void lwcc::warnOfDamage(const OnnxGraph &graph, const Leaves &leaves,
                        Reporter &reporter) {
  const std::string &producer = graph.file->model.producer_name();
  Search search(graph, leaves);
  if (producer == "pytorch")
    if (std::vector<std::string> names = search.computedConvolutions();
        !names.empty())
      reporter.warning()
          << "has " << names.size()
          << (names.size() == 1 ? " convolution" : " convolutions")
          << " whose weights PyTorch's older exporter computed ("
          << firstOf(names)
          << "): as a rule it folded batch normalization into them, so that "
             "another model is trained. Export with training="
             "torch.onnx.TrainingMode.TRAINING, do_constant_folding=False";
  if (producer != "tf2onnx")
    return;
  constexpr StringLiteral mend =
      "Keras with PyTorch as its backend exports them (docs/training.md)";
  if (std::vector<std::string> names = search.foldedNorms(); !names.empty())
    reporter.warning() << "does not have the batch normalization of "
                       << names.size()
                       << (names.size() == 1 ? " layer (" : " layers (")
                       << firstOf(names)
                       << "): tf2onnx folded it, so that another model is "
                          "trained. "
                       << mend;
  if (std::vector<std::string> names = search.withoutBias(); !names.empty())
    reporter.warning()
        << "has " << names.size() << (names.size() == 1 ? " layer" : " layers")
        << " without a bias (" << firstOf(names)
        << "): tf2onnx leaves out biases that are zero, as new ones are. If "
           "the model has them, "
        << mend;
}

//===- GraphAnalysis.h - What of an ONNX graph is trained -------*- C++ -*-===//
//
// Finds what can be known of a graph without shapes: the inputs that hold the
// samples and the one that holds the labels, the outputs that are logits and
// loss, the nodes that these need, and whether lwcc supports each of them.
// Before, what exporters do to it is undone (GraphRepairs.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHANALYSIS_H
#define LWCC_FRONTEND_GRAPHANALYSIS_H

#include "frontend/Import.h"
#include "frontend/NodeView.h"
#include "frontend/OnnxReader.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

namespace lwcc {

struct OnnxGraph {
  OnnxFile *file = nullptr;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<const onnx::NodeProto *> producers; ///< by output
  std::vector<const onnx::NodeProto *> nodes; ///< needed, in the file's order

  /// What is given for each sample, in the file's order.
  std::vector<const onnx::ValueInfoProto *> inputs;
  /// Of inputs of which the user says it; each is one of `inputs`.
  std::vector<InputLayout> layouts;
  const onnx::ValueInfoProto *labels = nullptr; ///< null: no loss in the file
  std::string logits; ///< the value that loss and accuracy are computed from
  std::string loss;   ///< its value; empty: train-add-loss adds one
  /// Outputs that are trained beside the logits; none where the file has a
  /// loss.
  std::vector<AuxiliaryOutput> auxiliary;
  const onnx::NodeProto *lossNode = nullptr; ///< the operator behind it
  /// A Softmax on the logits at the end of the graph, and on each auxiliary
  /// output. They are not imported, as the added cross entropies contain them.
  llvm::SmallPtrSet<const onnx::NodeProto *, 1> absorbed;
  /// Those of them on which --loss=nll depends.
  llvm::SmallPtrSet<const onnx::NodeProto *, 1> logProbabilities;

  /// Whether an input is integers: tokens, categories.
  static bool takesIntegers(const onnx::ValueInfoProto &input) {
    return elementKind(input.type().tensor_type().elem_type()) ==
           HostTensor::Kind::integer;
  }
  /// The values that losses are computed from, the logits first.
  std::vector<llvm::StringRef> heads() const {
    std::vector<llvm::StringRef> names = {logits};
    for (const AuxiliaryOutput &output : auxiliary)
      names.push_back(output.name);
    return names;
  }
  NodeView view(const onnx::NodeProto &node) const {
    return NodeView(node, file->opset);
  }
};

/// Reports everything that is unsupported; fails if there was anything.
mlir::FailureOr<OnnxGraph>
analyzeGraph(OnnxFile &file, const ImportOptions &options, Reporter &reporter);

/// Finds what is absorbed, for a loss that will be added; reports outputs that
/// do not have what it takes. A step of analyzeGraph.
void absorbSoftmaxes(OnnxGraph &graph, const ImportOptions &options,
                     Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_GRAPHANALYSIS_H

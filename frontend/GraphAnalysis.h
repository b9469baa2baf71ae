//===- GraphAnalysis.h - What of an ONNX graph is trained -------*- C++ -*-===//
//
// Facts about a graph that need no shapes: which input holds the images and
// which the labels, which output the logits and which the loss, which nodes
// they need, and whether lwcc supports all of those. Two repairs of what
// exporters do are made in the file itself, so that everything later (the
// import and the exported file) sees one truth: names for the same initializer
// become one, and running statistics that several layers share become theirs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_GRAPHANALYSIS_H
#define LWCC_FRONTEND_GRAPHANALYSIS_H

#include "frontend/Import.h"
#include "frontend/NodeView.h"
#include "frontend/OnnxReader.h"

#include "llvm/ADT/StringMap.h"

namespace lwcc {

struct OnnxGraph {
  OnnxFile *file = nullptr;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<const onnx::NodeProto *> producers; ///< by output
  std::vector<const onnx::NodeProto *> nodes; ///< the needed ones, in order

  const onnx::ValueInfoProto *input = nullptr;
  const onnx::ValueInfoProto *labels = nullptr; ///< null: no loss in the file
  std::string logits; ///< value that the loss and accuracy are made from
  std::string loss;   ///< value; empty: added by a pass
  const onnx::NodeProto *lossNode = nullptr; ///< the operator behind it
  /// A Softmax behind the logits that the added loss contains already.
  const onnx::NodeProto *absorbed = nullptr;

  NodeView view(const onnx::NodeProto &node) const {
    return NodeView(node, file->opset);
  }
};

/// Reports everything that is unsupported; fails if there was anything.
mlir::FailureOr<OnnxGraph>
analyzeGraph(OnnxFile &file, const ImportOptions &options, Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_GRAPHANALYSIS_H

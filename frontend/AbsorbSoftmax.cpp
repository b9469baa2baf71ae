//===- AbsorbSoftmax.cpp - A Softmax at the end belongs to the loss -------===//
//
// Cross entropy, which a pass adds behind the model, contains the softmax. One
// that the model ends in is therefore left out (OnnxGraph::absorbed). The loss
// nll of log-probabilities is the same as cross entropy of what their
// LogSoftmax is of, and asks for one.
//
// Whether a Softmax is along the classes the importer sees, which knows shapes
// (GraphImporter::isAbsorbed).
//
//===----------------------------------------------------------------------===//

#include "frontend/GraphAnalysis.h"
#include "frontend/Reporter.h"

#include "llvm/ADT/StringSet.h"

using namespace lwcc;
using namespace llvm;
using onnx::NodeProto;

/// A Softmax or LogSoftmax at the very end, whatever only moves the elements
/// behind it, as absorbed. Null if there is none.
static const NodeProto *absorbSoftmax(OnnxGraph &graph, StringRef head) {
  static const llvm::StringSet<> movers = {"Identity", "Flatten", "Reshape",
                                           "Squeeze", "Cast"};
  StringMap<unsigned> uses;
  for (const NodeProto *node : graph.nodes)
    for (const std::string &input : node->input())
      ++uses[input];
  StringRef value = head;
  while (const NodeProto *node = graph.producers.lookup(value)) {
    if (uses.lookup(value) > (value == head ? 0u : 1u) ||
        node->input_size() == 0)
      return nullptr;
    if (node->op_type() == "Softmax" || node->op_type() == "LogSoftmax") {
      graph.absorbed.insert(node);
      return node;
    }
    if (!movers.contains(node->op_type()))
      return nullptr;
    value = node->input(0);
  }
  return nullptr;
}

void lwcc::absorbSoftmaxes(OnnxGraph &graph, const ImportOptions &options,
                           Reporter &reporter) {
  auto absorbLogSoftmax = [&](StringRef head) {
    const NodeProto *last = absorbSoftmax(graph, head);
    if (last && last->op_type() == "LogSoftmax")
      graph.logProbabilities.insert(last);
    else
      reporter.error() << "does not end its output '" << head
                       << "' in a LogSoftmax, whose log-probabilities the loss "
                          "nll takes; cross-entropy takes scores, and a loss "
                          "that forward() computes is trained by --loss=output";
  };
  if (options.loss == "nll")
    absorbLogSoftmax(graph.logits);
  else if (options.loss == "auto" || options.loss == "cross-entropy")
    absorbSoftmax(graph, graph.logits);
  // Of others only if the loss is known to be one of classes.
  const bool ofClasses =
      options.loss == "cross-entropy" || !graph.absorbed.empty();
  for (AuxiliaryOutput &output : graph.auxiliary) {
    if (output.loss == "nll" || (output.loss.empty() && options.loss == "nll"))
      absorbLogSoftmax(output.name);
    else if (output.loss.empty() && ofClasses)
      absorbSoftmax(graph, output.name);
    if (output.loss == "nll") // of what is left
      output.loss = "cross-entropy";
  }
}

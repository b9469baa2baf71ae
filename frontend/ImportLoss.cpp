//===- ImportLoss.cpp - Losses that the file contains ---------------------===//

#include "frontend/NodeImporter.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

LogicalResult lwcc::importLoss(NodeImporter &node) {
  bool crossEntropy = node.op() == "SoftmaxCrossEntropyLoss";
  auto *labels = node.raw(1).as<Value>();
  if (!labels || *labels != node.labels())
    return node.fail("takes its labels from '" + node.input(1) +
                     "', which is not the model's input of class indices");
  StringRef reduction = node.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum")
    return node.fail(
        "has the reduction '" + reduction +
        "'; 'mean' or 'sum' is needed, so that the loss is a number");
  Value x = node.live(0), weight;
  if (node.hasInput(2)) {
    weight = node.live(2);
    if (!weight)
      return failure();
  }
  if (!x)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.size() != 2 || shape[0] != node.batch())
    return node.fail("takes scores of shape " + printShape(shape) + " for " +
                     Twine(node.batch()) +
                     " labels; [batch, classes] is supported");
  if (weight && (shapeOf(weight).size() != 1 || shapeOf(weight)[0] != shape[1]))
    return node.fail("has class weights of shape " +
                     printShape(shapeOf(weight)) + " for " + Twine(shape[1]) +
                     " classes");
  // Without the attribute no label is ignored; -100 is outside any model's.
  int64_t ignored = node.integer("ignore_index", -100);
  bool sum = reduction == "sum";
  auto scalar = node.tensorOf({});
  if (!crossEntropy) {
    Value loss =
        node.create<train::NllLossOp>(scalar, x, *labels, weight, ignored, sum);
    return node.result(0, loss);
  }
  auto loss = node.create<train::CrossEntropyOp>(scalar, x.getType(), x,
                                                 *labels, weight, ignored, sum);
  std::string probs = (node.output() + ".probs").str();
  train::setNames(loss, {node.output(), probs});
  if (node.isUsed(1)) {
    Value logProbs =
        node.create<train::SoftmaxOp>(x.getType(), x, /*axis=*/1, /*log=*/true);
    if (failed(node.result(1, logProbs)))
      return failure();
  }
  return node.result(0, loss.getLoss());
}

//===- ImportLoss.cpp - Losses that the file contains ---------------------===//

#include "frontend/Metadata.h"
#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/Sequence.h"

#include <algorithm>

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
  // Of labels [n, t] scores may be [n * t, c], as view(-1, c) makes them.
  Shape of(shapeOf(*labels)), shape(shapeOf(x));
  if (shape.size() == 2 && of.size() > 1 && shape[0] == *elementCount(of)) {
    Shape apart = of;
    apart.push_back(shape[1]);
    Shape perm = to_vector(seq<int64_t>(0, apart.size()));
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
    x = rewrite::transpose(node, node.reshape(x, apart), perm);
    shape.assign(shapeOf(x).begin(), shapeOf(x).end());
  }
  Shape one = shape;
  if (shape.size() > 1)
    one.erase(one.begin() + 1);
  if (shape.size() < 2 || one != of)
    return node.fail("takes scores of shape " + printShape(shape) +
                     " for labels of shape " + printShape(of) +
                     "; the labels' shape with the classes as dimension 1 is "
                     "needed");
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
  if (double smoothing = exportedSmoothing(node.proto()); smoothing != 0)
    loss->setAttr(
        train::exportedSmoothingAttr,
        FloatAttr::get(Float64Type::get(loss.getContext()), smoothing));
  if (node.isUsed(1)) {
    Value logProbs =
        node.create<train::SoftmaxOp>(x.getType(), x, /*axis=*/1, /*log=*/true);
    if (failed(node.result(1, logProbs)))
      return failure();
  }
  return node.result(0, loss.getLoss());
}

//===- Nodes.cpp - What the layers of a model were ------------------------===//

#include "passes/differentiate/Nodes.h"

#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

void lwcc::noteNodes(func::FuncOp func) {
  Builder builder(func.getContext());
  llvm::SetVector<Attribute> nodes, ofData;
  llvm::SmallDenseSet<Value> data(func.getArguments().begin(),
                                  func.getArguments().end());
  for (Operation &op : func.getBody().front()) {
    StringRef layer = layerOf(&op);
    if (layer.empty())
      continue;
    nodes.insert(builder.getStringAttr(layer));
    if (llvm::none_of(op.getOperands(),
                      [&](Value operand) { return data.contains(operand); }))
      continue;
    data.insert(op.getResults().begin(), op.getResults().end());
    ofData.insert(builder.getStringAttr(layer));
  }
  Operation *module = func->getParentOp();
  module->setAttr(nodesAttr, builder.getArrayAttr(nodes.getArrayRef()));
  nodes.set_subtract(ofData);
  if (!nodes.empty())
    module->setAttr(parameterNodesAttr,
                    builder.getArrayAttr(nodes.getArrayRef()));
}

//===- Nodes.h - What the layers of a model were --------------*- C++ -*-===//
//
// Remembers the layers that a module had when it was imported. Plan files name
// layers by ONNX nodes, but fusion makes some nodes part of others. With this
// list, planning can tell a node that was fused from a name that never existed.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_NODES_H
#define LWCC_PASSES_DIFFERENTIATE_NODES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc {

/// Of a module, from train-add-loss until it is planned: the layers that it had
/// when it was imported.
inline constexpr llvm::StringLiteral nodesAttr = "train.nodes";
/// Of a module, likewise: those that compute from parameters alone, such as
/// slices of a recurrent layer's weights.
inline constexpr llvm::StringLiteral parameterNodesAttr =
    "train.parameter_nodes";

/// Writes down both of @model. A plan file may name a layer that is fused into
/// another by the time that it is planned.
void noteNodes(mlir::func::FuncOp func);

} // namespace lwcc

#endif // LWCC_PASSES_DIFFERENTIATE_NODES_H

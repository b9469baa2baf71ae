//===- Nodes.h - What the layers of a model were --------------*- C++ -*-===//
//
// Remembers the layers that a module had when it was imported. Plan files name
// layers by ONNX nodes, but fusion makes some nodes part of others. With this
// list, planning can tell a node that was fused from a name that never existed.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_NODES_H
#define LWCC_PASSES_DIFFERENTIATE_NODES_H

#include "llvm/ADT/StringRef.h"

namespace lwcc {

/// Of a module, from train-add-loss until it is planned: the layers that it had
/// when it was imported.
inline constexpr llvm::StringLiteral nodesAttr = "train.nodes";

} // namespace lwcc

#endif // LWCC_PASSES_DIFFERENTIATE_NODES_H

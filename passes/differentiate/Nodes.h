//===- Nodes.h - What the layers of a model were --------------*- C++ -*-===//
//
// Plans name layers by the nodes of the ONNX file. Fusion and folding make some
// of these part of others: then it is still known that they were there.
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

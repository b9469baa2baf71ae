//===- BuildGraph.h - The layers of a module --------------------*- C++ -*-===//
//
// Makes the layers that planning looks at (LayerGraph.h) from a module of the
// form `differentiated`. A layer is everything with one layer in train.work:
// its forward, backward and update ops.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H
#define LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H

#include "ir/train/Train.h"
#include "passes/plan/model/LayerGraph.h"

namespace lwcc::plan {

/// The layer that an op is cut with: its own; else that of its first user that
/// has one; else that of what it reads.
llvm::StringRef servedLayer(mlir::Operation *op);

struct GraphOptions {
  /// Whether each kernel call gets its key, by which a profile is asked.
  bool keys = false;
};

/// All layers, in the model's order. The graph's `tiles` function looks at the
/// module's ops, which must outlive it.
LayerGraph buildGraph(mlir::ModuleOp module, GraphOptions options = {});

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H

//===- BuildGraph.h - The layers of a module --------------------*- C++ -*-===//
//
// From the form differentiated to what planning looks at (LayerGraph.h). A
// layer is what has one name in train.work: its forward, backward and update ops.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H
#define LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H

#include "ir/train/Train.h"
#include "passes/plan/model/LayerGraph.h"

namespace lwcc::plan {

/// The layer that an op runs with: its own, else that of its first user, else
/// that of what it reads.
llvm::StringRef servedLayer(mlir::Operation *op);

struct GraphOptions {
  /// Whether it says of each kernel call what a profile knows it by.
  bool keys = false;
  /// Whether each part of the samples has statistics of its own, so that batch
  /// normalization exchanges none between them.
  bool localStatistics = false;
};

/// All layers, in the model's order. The graph's `tiles` looks at the module's
/// ops: they must live as long.
LayerGraph buildGraph(mlir::ModuleOp module, GraphOptions options = {});

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_BUILDGRAPH_H

//===- AllInParallel.h - Tasks that may have something to say ---*- C++ -*-===//
//
// Tasks that read one module, beside each other. What they report comes in the
// order of the tasks, whichever was first.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_ALLINPARALLEL_H
#define LWCC_PASSES_VERIFY_ALLINPARALLEL_H

#include "ir/Parallel.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace lwcc {

/// Numbers the ops of all blocks. MLIR does so when first asked which of two
/// ops comes first, also for its own rule of dominance: of tasks that read
/// beside each other, one would ask while another numbers.
inline void numberOps(mlir::Operation *root) {
  root->walk([](mlir::Block *block) { block->recomputeOpOrder(); });
}

/// Whether all of task(0) to task(count - 1) succeed. Tasks that ask for the
/// order of ops find them numbered (numberOps).
inline mlir::LogicalResult
allInParallel(mlir::MLIRContext *context, size_t count,
              llvm::function_ref<mlir::LogicalResult(size_t)> task) {
  std::atomic<bool> ok = true;
  auto run = [&](size_t i) {
    if (failed(task(i)))
      ok = false;
  };
  if (!context->isMultithreadingEnabled()) { // it has no locks
    for (size_t i = 0; i < count; ++i)
      run(i);
    return mlir::success(ok);
  }
  mlir::ParallelDiagnosticHandler inOrder(context);
  inParallel(count, [&](size_t i) {
    inOrder.setOrderIDForThread(i);
    run(i);
    inOrder.eraseOrderIDForThread();
  });
  return mlir::success(ok);
}

} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_ALLINPARALLEL_H

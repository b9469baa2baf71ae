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

namespace lwcc {

/// Whether all of task(0) to task(count - 1) succeed.
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

//===- Loops.h - Steps rolled into loops ------------------------*- C++ -*-===//
//
// Finds the repetitions in the steps of a sequence (Groups.h): steps that come
// back with the micro-batch advanced, as in the steady state of a pipeline.
//
// Decides which steps the emitted text calls in a loop. Their order stays.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_LOOPS_H
#define LWCC_CODEGEN_LOOPS_H

#include "codegen/Groups.h"

namespace lwcc {

/// Steps that are called `times` times; each time all micro-batches are
/// `advance` higher than the time before.
struct Loop {
  std::vector<Step> steps; ///< of the first time
  int64_t times = 1;
  int64_t advance = 0;
};

/// The steps as loops, in order. A step that is in no loop is one of its own.
std::vector<Loop> rollUp(llvm::ArrayRef<Step> steps);

} // namespace lwcc

#endif // LWCC_CODEGEN_LOOPS_H

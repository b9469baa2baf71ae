//===- ScheduleVerifier.h - Proof before run --------------------*- C++ -*-===//
//
// Proves that an exec program means what its order of appending says, however
// its lanes interleave and wherever its buffers lie: see the numbered rules in
// ir/exec/README.md. It trusts nothing that the passes before it knew; reads,
// writes and bytes are taken from the calls and the buffers alone.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H
#define LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Reports every mistake found as an error on the op that makes it, with notes
/// at the other op. Memory must be planned.
mlir::LogicalResult verifySchedule(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H

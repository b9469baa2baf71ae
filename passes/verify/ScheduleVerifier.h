//===- ScheduleVerifier.h - Proof before run --------------------*- C++ -*-===//
//
// Proves an exec program correct before it is emitted: under every interleaving
// of its lanes it computes what its order of appending says (rules E3 to E9 of
// ir/exec/README.md: no data race, no wait cycle, no read of stale bytes), and
// this is what the function computes that it was made from (E10).
//
// Takes reads, writes and bytes from the calls and buffers alone, and trusts
// nothing that earlier passes knew. Decides nothing and changes nothing.
// Copies.h checks E9, Meaning.h checks E10.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H
#define LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Reports each violation as an error on the op that causes it, with a note at
/// the other op. Needs the offsets of all buffers.
mlir::LogicalResult verifySchedule(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_SCHEDULEVERIFIER_H

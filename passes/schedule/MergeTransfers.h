//===- MergeTransfers.h - One call per gather -------------------*- C++ -*-===//
//
// A gather of a tensor from several devices is a transfer per part; these
// follow each other on one lane. Merges them into one call in the position of
// the last, if all of them may run there. That takes one wait per source device
// instead of one per part, and one line of the emitted program.
//
// Does not decide what is transferred (passes/shard).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H
#define LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Merges in every sequence of the program. Must run before `synchronize`.
void mergeTransfers(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H

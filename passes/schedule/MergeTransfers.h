//===- MergeTransfers.h - One call for the parts of a tensor ----*- C++ -*-===//
//
// A gather of a tensor from several devices is one transfer per part, which
// follow each other on one lane. They become one call, at the place of the
// last, where all can run: there is one wait for each device and one line to
// read.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H
#define LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// In each sequence of a program, before events are put in.
void mergeTransfers(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_MERGETRANSFERS_H

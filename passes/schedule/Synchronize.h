//===- Synchronize.h - Events between lanes ---------------------*- C++ -*-===//
//
// Adds the events of a program: a lane waits for another where their calls
// access the same bytes of one root buffer and at least one of them writes
// (RAW, WAR and WAW dependences). Then every interleaving of the lanes gives
// the meaning of the order of appending.
//
// Does not look at buffers that share bytes of an arena: there are no offsets
// yet. The memory planner lets buffers share bytes only where the
// happens-before order made here keeps their accesses apart
// (passes/memory/MemoryProblem.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H
#define LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Adds exec.event, exec.record and exec.wait to a program that has none. A
/// wait that is implied by other waits is not added.
void synchronize(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H

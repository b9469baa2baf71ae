//===- Synchronize.h - Events between lanes ---------------------*- C++ -*-===//
//
// Makes the lanes of a program wait for each other where their calls touch the
// same memory, so that every interleaving means what the order of appending
// says. Memory reuse is not its business: the memory planner lets buffers share
// bytes only where the order made here already keeps them apart.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H
#define LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Adds exec.event, exec.record and exec.wait to a program that has none. No
/// wait is added for what another one already implies.
void synchronize(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_SYNCHRONIZE_H

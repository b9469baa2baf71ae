//===- ReadProgram.h - From an exec program to what prices see --*- C++ -*-===//
#ifndef LWCC_PASSES_PLAN_MODEL_READPROGRAM_H
#define LWCC_PASSES_PLAN_MODEL_READPROGRAM_H

#include "ir/exec/Exec.h"
#include "passes/plan/model/Program.h"

namespace lwcc::plan {

/// One sequence of a program, which must have it.
Program readProgram(exec::ProgramOp program, llvm::StringRef sequence);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_READPROGRAM_H

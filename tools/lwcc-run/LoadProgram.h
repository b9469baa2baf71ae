//===- LoadProgram.h - exec as a program to run -----------------*- C++ -*-===//
//
// Fills the struct that an emitted program would fill.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_RUN_LOADPROGRAM_H
#define LWCC_TOOLS_RUN_LOADPROGRAM_H

#include "ir/exec/Exec.h"
#include "runtime/core/Program.h"

namespace lwcc {

/// `program` has all that tables need (codegen/ProgramTables.h), or is of the
/// compiler. `blob` and `program` must outlive the result, whose functions walk
/// the sequences and make the calls that the printer would print.
mlir::FailureOr<rt::Program> loadProgram(exec::ProgramOp program,
                                         llvm::ArrayRef<char> blob);

} // namespace lwcc

#endif // LWCC_TOOLS_RUN_LOADPROGRAM_H

//===- ProgramTables.h - What the trainer's tables are made of --*- C++ -*-===//
//
// What the printer and lwcc-run both read of a program to fill the trainer's
// tables. A person may have written the program, so that checkTables() looks at
// it first. What the calls may touch, the schedule verifier checks.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMTABLES_H
#define LWCC_CODEGEN_PROGRAMTABLES_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Whether all that the tables need is there (ir/exec/README.md, attributes for
/// the trainer). Says everything that is not.
mlir::LogicalResult checkTables(exec::ProgramOp program);

/// Extents of the global tensor that a buffer is a part of, or all.
llvm::ArrayRef<int64_t> globalDims(exec::BufferOp buffer);

/// Bytes of a state tensor, dense: its raw_data in the exported file.
int64_t bytesOfState(exec::BufferOp buffer);

/// How many bytes of weights a program reads; those that only the exported ONNX
/// file takes if there is one.
int64_t weightsNeeded(exec::ProgramOp program, bool exports);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMTABLES_H

//===- ProgramTables.h - What the trainer's tables are made of --*- C++ -*-===//
//
// What the printer and lwcc-run, which fill the same tables, both read of a
// program that a person may have written. What the calls may touch is not
// checked here, but by the schedule verifier.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMTABLES_H
#define LWCC_CODEGEN_PROGRAMTABLES_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Whether all that the tables need is there (ir/exec/README.md, attributes for
/// the trainer). Says everything that is not.
mlir::LogicalResult checkTables(exec::ProgramOp program);

/// The runtime's name of a buffer's element type: f32, i32 or u8.
llvm::StringRef elementName(exec::BufferOp buffer);

/// Extents of the global tensor that a buffer is a part of, or all.
llvm::ArrayRef<int64_t> globalDims(exec::BufferOp buffer);

/// Bytes of a state tensor, dense: its raw_data in the exported file.
int64_t bytesOfState(exec::BufferOp buffer);

/// How many bytes of weights a program reads; those that only the exported ONNX
/// file takes if there is one.
int64_t weightsNeeded(exec::ProgramOp program, bool exports);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMTABLES_H

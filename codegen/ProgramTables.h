//===- ProgramTables.h - What the trainer's tables are made of --*- C++ -*-===//
//
// What the printer and lwcc-run (tools/lwcc-run/LoadProgram.cpp) read of a
// program to fill the trainer's tables. A person may have written the program,
// so checkTables() must accept it first.
//
// Does not check what calls touch: the schedule verifier does.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMTABLES_H
#define LWCC_CODEGEN_PROGRAMTABLES_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Checks the attributes for the trainer (ir/exec/README.md); reports
/// everything that is missing or wrong.
mlir::LogicalResult checkTables(exec::ProgramOp program);

/// The runtime's name of the element type: f32, i32 or u8.
llvm::StringRef elementName(exec::BufferOp buffer);

/// The runtime's name of what a lane does (LaneUse, runtime/core/Machine.h):
/// compute, copies or urgent.
llvm::StringRef useName(exec::LaneOp lane);

/// The extents of the tensor of which a buffer holds a part.
llvm::ArrayRef<int64_t> globalDims(exec::BufferOp buffer);

/// How many integers an input of a program takes; 0: floats.
int64_t tokensOf(exec::ProgramOp program, llvm::StringRef input);

/// Whether the file takes an input of a program with channels last.
bool hasChannelsLast(exec::ProgramOp program, llvm::StringRef input);

/// Bytes of a state tensor as it is exported: dense, the size of its raw_data.
int64_t bytesOfState(exec::BufferOp buffer);

/// The number of bytes of weights that a program reads; with `exports`, those
/// too that only the exported ONNX file contains.
int64_t weightsNeeded(exec::ProgramOp program, bool exports);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMTABLES_H

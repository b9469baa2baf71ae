//===- EmitSequence.h - The functions of a sequence -------------*- C++ -*-===//
//
// Prints a sequence as functions that devices share, and the function that
// calls these. The sequence is cut into segments (Segments.h). Within a segment
// no device waits for another, so that it may be printed device by device;
// devices of a segment whose statements differ in numbers only (offsets, peers,
// events) are a group and share one function of the device's number `i`.
//
// Does not decide what a statement says (Statements.h), nor the layout of a
// function (EmitFunction.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITSEQUENCE_H
#define LWCC_CODEGEN_EMITSEQUENCE_H

#include "codegen/Phrase.h"
#include "codegen/ProgramNames.h"

namespace lwcc {

/// Prints the functions of a sequence, and the function `cppName` that calls
/// them in order. Fails with a diagnostic on an op that it cannot print.
mlir::LogicalResult emitSequence(exec::SequenceOp sequence,
                                 llvm::StringRef cppName, ProgramNames &names,
                                 NumberTables &tables, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITSEQUENCE_H

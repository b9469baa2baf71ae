//===- EmitSequence.h - The functions of a sequence -------------*- C++ -*-===//
//
// Prints a sequence as functions that devices and micro-batches share, and the
// function that calls these. What shares a function is a group (Groups.h): it
// differs in numbers only (offsets, peers, events), which become expressions of
// the device's number `i` and the micro-batch's `m`.
//
// Decides whether micro-batches get functions of their own: where that makes
// the text shorter.
//
// Does not decide what a statement says (Statements.h), nor the layout of a
// function (EmitFunction.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITSEQUENCE_H
#define LWCC_CODEGEN_EMITSEQUENCE_H

#include "codegen/Expressions.h"
#include "codegen/ProgramNames.h"

namespace lwcc {

/// Prints the functions of a sequence, and the function `cppName` that calls
/// them in order. Fails with a diagnostic on an op that it cannot print.
mlir::LogicalResult emitSequence(exec::SequenceOp sequence,
                                 llvm::StringRef cppName, ProgramNames &names,
                                 NumberTables &tables, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITSEQUENCE_H

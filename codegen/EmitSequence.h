//===- EmitSequence.h - The functions of a sequence -------------*- C++ -*-===//
//
// Prints a sequence as functions that devices share. The sequence is cut into
// segments (Segments.h): within one no device waits for another, so that it can
// be printed device by device. In a segment, devices whose statements differ in
// numbers only (offsets, peers, events) share one function. Its argument `i` is
// the device.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITSEQUENCE_H
#define LWCC_CODEGEN_EMITSEQUENCE_H

#include "codegen/Phrase.h"
#include "codegen/ProgramNames.h"

namespace lwcc {

/// Prints the functions of a sequence and `cppName`, which calls them. Fails
/// with a diagnostic on an op that it cannot print.
mlir::LogicalResult emitSequence(exec::SequenceOp sequence,
                                 llvm::StringRef cppName, ProgramNames &names,
                                 NumberTables &tables, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITSEQUENCE_H

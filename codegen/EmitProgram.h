//===- EmitProgram.h - exec as readable CUDA C++ ----------------*- C++ -*-===//
//
// Prints an exec.program as C++: one translation unit that a person can read.
// The nouns of this room, from the program to the text:
//   member     of struct Device: counterparts, a buffer or lane of each device
//              (ProgramNames.h)
//   section    forward pass, backward pass, or updates beside it (Segments.h)
//   segment    what devices do in a section between two waits for each other
//   group      devices that do the same in a segment: one function
//              (EmitFunction.h)
//   statement  an op as one device says it; phrases are its text (Statements.h)
//   phrase     text whose numbers are kept apart (Phrase.h)
//
// Decides nothing about what runs: every statement is one op, and every lane
// has its ops in the order of the sequence. The tables for the trainer are
// checked by ProgramTables.h first.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITPROGRAM_H
#define LWCC_CODEGEN_EMITPROGRAM_H

#include "ir/exec/Exec.h"

#include <string>

namespace lwcc {

/// The text of a translation unit that compiles for both targets: with nvcc
/// against runtime/cuda, with g++ against runtime/cpu. The weights must be
/// linked under the symbols lwcc_blob and lwcc_blob_end. Fails with a
/// diagnostic on an op that it cannot print.
mlir::FailureOr<std::string> emitProgram(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITPROGRAM_H

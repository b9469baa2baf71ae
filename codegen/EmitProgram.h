//===- EmitProgram.h - exec as readable CUDA C++ ----------------*- C++ -*-===//
//
// Prints an exec.program. Nothing is decided here: every statement is one op,
// in the order of the op.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITPROGRAM_H
#define LWCC_CODEGEN_EMITPROGRAM_H

#include "ir/exec/Exec.h"

#include <string>

namespace lwcc {

/// The text of one translation unit that compiles for both targets: with nvcc
/// against runtime/cuda, with g++ against runtime/cpu. The weights are expected
/// under the symbols lwcc_blob and lwcc_blob_end. Fails with a diagnostic on an
/// op that it cannot print.
mlir::FailureOr<std::string> emitProgram(exec::ProgramOp program);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITPROGRAM_H

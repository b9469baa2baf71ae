//===- Copies.h - Copies of a tensor stay equal -----------------*- C++ -*-===//
//
// A parameter may lie in several buffers, on several devices, that hold the
// same elements. They are equal at the start of a run; if a sequence gives one
// of them new values, it must give them to all, and all parts of a tensor must
// say the same of it (rule E9 of ir/exec/README.md).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_COPIES_H
#define LWCC_PASSES_VERIFY_COPIES_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Fails, with diagnostics, where two buffers are parts of one global tensor
/// but differ in its role, element type, extents or initial value.
mlir::LogicalResult verifyParts(exec::ProgramOp program);

/// What a sequence wrote of a persistent buffer.
struct WrittenBytes {
  exec::BufferOp buffer;
  int64_t bytes = 0;
};

/// Fails, with diagnostics, where a buffer that is a part of a global tensor
/// was written in part, or another one that holds elements of it was not
/// written. The parts agree on their tensor.
mlir::LogicalResult verifyCopies(exec::SequenceOp sequence,
                                 llvm::ArrayRef<WrittenBytes> buffers);

} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_COPIES_H

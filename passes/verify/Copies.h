//===- Copies.h - Copies of a tensor stay equal -----------------*- C++ -*-===//
//
// Checks rule E9 of ir/exec/README.md. A tensor may lie in several persistent
// buffers, on several devices, as copies or as parts. They must agree on what
// the tensor is, and copies must stay equal: they are equal at the start of a
// run, so a sequence that writes one must write all that overlap it.
//
// Does not check that the values written are equal: Meaning.h does, by their
// numbers.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_COPIES_H
#define LWCC_PASSES_VERIFY_COPIES_H

#include "ir/exec/Exec.h"

namespace lwcc {

/// Reports buffers of one tensor that differ in its role, element type, extents
/// or initial value.
mlir::LogicalResult verifyParts(exec::ProgramOp program);

/// How many bytes of a persistent buffer a sequence has written in the end.
struct WrittenBytes {
  exec::BufferOp buffer;
  int64_t bytes = 0;
};

/// Reports a buffer that a sequence wrote in part, and a buffer that it did not
/// write although it wrote another with elements in common. The buffers must
/// have passed verifyParts.
mlir::LogicalResult verifyCopies(exec::SequenceOp sequence,
                                 llvm::ArrayRef<WrittenBytes> buffers);

} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_COPIES_H

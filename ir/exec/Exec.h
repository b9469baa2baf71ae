//===- Exec.h - The exec dialect --------------------------------*- C++ -*-===//
//
// Umbrella header of the exec dialect, and the only definition of how a tensor
// type is stored in memory.
//
// Several types are called Tensor or Event: exec.buffer and exec.event are
// declarations of the program; rt::Tensor and rt::Event (runtime/core) are what
// the emitted program has at run time; meaning::Tensor (passes/verify) is an
// operand of the checker.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_EXEC_H
#define LWCC_IR_EXEC_EXEC_H

#include "ir/place/Layout.h"
#include "ir/train/Attributes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "ir/exec/ExecDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/exec/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/exec/ExecOps.h.inc"

namespace lwcc::exec {

/// Rank-4 tensors are stored channels-last, all others row-major.
inline bool isChannelsLast(mlir::RankedTensorType type) {
  return type.getRank() == 4;
}

/// Bytes of a dense tensor of the type.
int64_t bytesOf(mlir::RankedTensorType type);

/// The distance in elements between neighbours along each dimension of a stored
/// tensor.
llvm::SmallVector<int64_t> stridesOf(mlir::RankedTensorType type);

/// The offset in bytes of an element of a stored tensor.
int64_t byteOf(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> element);

/// Bytes from the first element of a buffer to behind its last. A window spans
/// more bytes than it has.
int64_t spanOf(BufferOp buffer, mlir::SymbolTable &symbols);

using tiling::arenaAlignment;

/// The root buffer in whose memory `buffer` lies (itself, if it is no view),
/// and the distance in bytes from the root's first byte.
std::pair<BufferOp, int64_t> rootOf(BufferOp buffer,
                                    mlir::SymbolTable &symbols);

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_EXEC_H

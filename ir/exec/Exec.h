//===- Exec.h - The exec dialect --------------------------------*- C++ -*-===//
//
// Umbrella header of the exec dialect, and the one statement of how a tensor
// type lies in memory.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_EXEC_H
#define LWCC_IR_EXEC_EXEC_H

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

/// Bytes of a dense tensor of this type.
int64_t bytesOf(mlir::RankedTensorType type);

/// Distance in elements between neighbours along each dimension, as a tensor of
/// this type is stored.
llvm::SmallVector<int64_t> stridesOf(mlir::RankedTensorType type);

/// The byte at which an element of such a tensor is stored.
int64_t byteOf(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> element);

/// Bytes from the first to behind the last element of a buffer: of a window
/// more than it has.
int64_t spanOf(BufferOp buffer, mlir::SymbolTable &symbols);

/// Offsets in an arena are multiples of this.
inline constexpr int64_t arenaAlignment = 256;

/// The root buffer in whose memory `buffer` lies (itself unless a view) and the
/// byte distance from the root's start.
std::pair<BufferOp, int64_t> rootOf(BufferOp buffer,
                                    mlir::SymbolTable &symbols);

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_EXEC_H

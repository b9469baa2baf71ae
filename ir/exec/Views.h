//===- Views.h - When a tensor is bytes of another --------------*- C++ -*-===//
//
// Which data movements move nothing, given how tensors are stored (rank 4
// channels-last, others row-major). Pure arithmetic on types.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_VIEWS_H
#define LWCC_IR_EXEC_VIEWS_H

#include "ir/exec/Exec.h"
#include "ir/train/Train.h"

#include <optional>

namespace lwcc {

/// Whether the same bytes, read as `to`, are `from`'s elements in the same
/// row-major (logical) order: a reshape that moves nothing.
bool isReshapeView(mlir::RankedTensorType from, mlir::RankedTensorType to);

/// Whether the same bytes, read as `to`, are `from` with its dimensions
/// permuted (dimension d of `to` is dimension perm[d] of `from`).
bool isTransposeView(mlir::RankedTensorType from, mlir::RankedTensorType to,
                     llvm::ArrayRef<int64_t> perm);

/// The byte at which the part of `whole` that begins at `begin` is stored, if
/// it is stored as a dense tensor of type `part` and at an address that every
/// kernel accepts (a multiple of exec::arenaAlignment).
std::optional<int64_t> partOffset(mlir::RankedTensorType whole,
                                  mlir::RankedTensorType part,
                                  llvm::ArrayRef<int64_t> begin);

/// Whether nobody needs the result of a slice as a dense tensor: what it takes
/// is not stored as one, and only concats and sums read it, which can do so
/// where it is.
bool isWindow(train::SliceOp slice);
/// The byte of its operand at which such a slice begins.
int64_t windowOffset(train::SliceOp slice);

/// The same of all operands of a concat in its result.
std::optional<llvm::SmallVector<int64_t>> partsOf(train::ConcatOp concat);

} // namespace lwcc

#endif // LWCC_IR_EXEC_VIEWS_H

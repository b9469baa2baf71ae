//===- Views.h - When a tensor is bytes of another --------------*- C++ -*-===//
//
// Decides which data movements move no byte, given how tensors are stored
// (ir/place/Layout.h). Mostly arithmetic on types. Storage.cpp
// makes views of these; passes/verify/Meaning.cpp decides the same
// independently, as a check.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_VIEWS_H
#define LWCC_IR_EXEC_VIEWS_H

#include "ir/exec/Exec.h"
#include "ir/train/Train.h"

#include <optional>

namespace lwcc {

/// Whether a reshape moves no byte: the bytes of `from`, read as `to`, are the
/// same elements in the same logical (row-major) order.
bool isReshapeView(mlir::RankedTensorType from, mlir::RankedTensorType to);

/// Whether a transpose moves no byte. Dimension d of `to` is dimension perm[d]
/// of `from`.
bool isTransposeView(mlir::RankedTensorType from, mlir::RankedTensorType to,
                     llvm::ArrayRef<int64_t> perm);

/// Whether a reshape or a transpose moves no byte; false of any other movement.
bool isRearrangedView(const train::Movement &movement,
                      mlir::RankedTensorType from, mlir::RankedTensorType to);

/// The offset in bytes of the part of `whole` that begins at `begin`. Nothing
/// unless the part is stored there as a dense tensor of type `part`, at a
/// multiple of exec::arenaAlignment.
std::optional<int64_t> partOffset(mlir::RankedTensorType whole,
                                  mlir::RankedTensorType part,
                                  llvm::ArrayRef<int64_t> begin);

/// Whether the result of a slice can stay inside its operand as a window (a
/// part with the operand's strides): it is not stored as a dense tensor there,
/// and all its readers are concats and sums, which take strides.
bool isWindow(train::SliceOp slice);
/// The offset in bytes at which the window begins in the slice's operand.
int64_t windowOffset(train::SliceOp slice);

/// The offsets in bytes of a concat's operands in its result; nothing unless
/// all of them can be made there.
std::optional<llvm::SmallVector<int64_t>> partsOf(train::ConcatOp concat);

/// Whether an op takes a call of its own, as far as its operands and readers
/// show: it is neither a view nor a concat of parts that are made in place.
bool takesCall(mlir::Operation *op);

} // namespace lwcc

#endif // LWCC_IR_EXEC_VIEWS_H

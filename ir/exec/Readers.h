//===- Readers.h - Which ops read a value's bytes ---------------*- C++ -*-===//
//
// Finds the ops that read the bytes of a value, through all its views. Asked by
// TrainSchedule.cpp, StorageMap and the rules of `scheduled`, before it is
// decided which reshapes and slices become views. So the answer is
// conservative: an op that may become a view counts as one.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_READERS_H
#define LWCC_IR_EXEC_READERS_H

#include "ir/exec/Views.h"
#include "ir/train/Train.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace lwcc {

/// Whether a train.transfer needs no copy: every reader can read the value on
/// the device where it is (`mayLieElsewhere` of the reader's operand).
inline bool isReadElsewhere(train::TransferOp transfer) {
  auto slice = transfer.getX().getDefiningOp<train::SliceOp>();
  bool window = slice && isWindow(slice);
  return llvm::all_of(transfer->getUses(), [&](mlir::OpOperand &use) {
    mlir::Operation *reader = use.getOwner();
    // A concat may have its operands made inside its result: then the transfer
    // is the copy that puts this one there.
    if (auto concat = mlir::dyn_cast<train::ConcatOp>(reader))
      return window || !partsOf(concat);
    auto kernel = mlir::dyn_cast<train::KernelOpInterface>(reader);
    return kernel && !mlir::isa<train::TransferOp>(reader) &&
           kernel.mayLieElsewhere(use.getOperandNumber());
  });
}

/// Whether an op's results may be views of its first operand.
inline bool mayBeView(mlir::Operation *op) {
  if (auto transfer = mlir::dyn_cast<train::TransferOp>(op))
    return isReadElsewhere(transfer);
  switch (train::movementOf(op).kind) {
  case train::Movement::reshape:
  case train::Movement::permute:
  case train::Movement::parts:
    return true;
  default:
    return false;
  }
}

/// The value and all values that may share bytes with it: its views, and the
/// concats of which it may be a part.
inline llvm::SetVector<mlir::Value> viewsOf(mlir::Value value) {
  llvm::SetVector<mlir::Value> views;
  views.insert(value);
  for (size_t i = 0; i < views.size(); ++i)
    for (mlir::Operation *user : views[i].getUsers())
      if (mayBeView(user) || mlir::isa<train::ConcatOp>(user))
        views.insert_range(user->getResults());
  return views;
}

/// The ops that may read bytes of `value`.
inline llvm::SetVector<mlir::Operation *> readersOf(mlir::Value value) {
  llvm::SetVector<mlir::Operation *> readers;
  for (mlir::Value view : viewsOf(value))
    readers.insert_range(view.getUsers());
  return readers;
}

/// Whether a slice takes no element of the region of its operand that begins at
/// `begin` and has the shape of `part`; without `begin` the region is
/// everything.
inline bool takesNothingOf(train::SliceOp slice, mlir::RankedTensorType part,
                           std::optional<llvm::ArrayRef<int64_t>> begin) {
  if (!begin)
    return false;
  auto type = mlir::cast<mlir::RankedTensorType>(slice.getY().getType());
  for (int64_t d = 0; d < part.getRank(); ++d) {
    int64_t first = slice.getStart()[d], end = first + type.getDimSize(d);
    if (slice.getStep()[d] == 1 &&
        (end <= (*begin)[d] || (*begin)[d] + part.getDimSize(d) <= first))
      return true;
  }
  return false;
}

/// The ops that may read the old value of a parameter in the region that
/// `value`, at `begin`, replaces.
inline llvm::SetVector<mlir::Operation *>
readersOfPart(train::ReadOp read, mlir::Value value,
              std::optional<llvm::ArrayRef<int64_t>> begin) {
  auto part = mlir::cast<mlir::RankedTensorType>(value.getType());
  llvm::SetVector<mlir::Operation *> readers;
  for (mlir::Operation *user : read.getValue().getUsers()) {
    auto slice = mlir::dyn_cast<train::SliceOp>(user);
    if (slice && takesNothingOf(slice, part, begin))
      continue;
    readers.insert(user);
    if (mayBeView(user) || mlir::isa<train::ConcatOp>(user))
      for (mlir::Value result : user->getResults())
        readers.insert_range(readersOf(result));
  }
  return readers;
}

} // namespace lwcc

#endif // LWCC_IR_EXEC_READERS_H

//===- Readers.h - Who reads a value's bytes --------------------*- C++ -*-===//
//
// Scheduling and storage both need to know who still wants the bytes of a
// value, before it is settled which of its reshapes become views. So every op
// that could be a view counts as one here.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_READERS_H
#define LWCC_IR_EXEC_READERS_H

#include "ir/exec/Views.h"
#include "ir/train/Train.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace lwcc {

/// Whether nobody needs what a train.transfer brings as a copy: its readers can
/// read it where it is.
inline bool isReadElsewhere(train::TransferOp transfer) {
  auto slice = transfer.getX().getDefiningOp<train::SliceOp>();
  bool window = slice && isWindow(slice);
  return llvm::all_of(transfer->getUses(), [&](mlir::OpOperand &use) {
    mlir::Operation *reader = use.getOwner();
    // It can be brought to its place in a concat's result: without a copy
    // there.
    if (auto concat = mlir::dyn_cast<train::ConcatOp>(reader))
      return window || !partsOf(concat);
    auto kernel = mlir::dyn_cast<train::KernelOpInterface>(reader);
    return kernel && !mlir::isa<train::TransferOp>(reader) &&
           kernel.mayLieElsewhere(use.getOperandNumber());
  });
}

/// Whether the results may be views of the first operand.
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

/// The value and everything that may lie in the same bytes: its views, and what
/// it may be a part of.
inline llvm::SetVector<mlir::Value> viewsOf(mlir::Value value) {
  llvm::SetVector<mlir::Value> views;
  views.insert(value);
  for (size_t i = 0; i < views.size(); ++i)
    for (mlir::Operation *user : views[i].getUsers())
      if (mayBeView(user) || mlir::isa<train::ConcatOp>(user))
        views.insert_range(user->getResults());
  return views;
}

/// Everybody who reads the bytes of `value`.
inline llvm::SetVector<mlir::Operation *> readersOf(mlir::Value value) {
  llvm::SetVector<mlir::Operation *> readers;
  for (mlir::Value view : viewsOf(value))
    readers.insert_range(view.getUsers());
  return readers;
}

/// Whether a train.slice takes nothing of the part of its operand that a value
/// of type `part` at `begin` covers (no `begin`: that is all of it).
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

/// Everybody who reads any of the part of a parameter's old value that `value`,
/// at `begin`, replaces.
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

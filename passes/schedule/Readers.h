//===- Readers.h - Who reads a value's bytes --------------------*- C++ -*-===//
//
// Scheduling and storage both need to know who still wants the bytes of a
// value, before it is settled which of its reshapes become views. So every op
// that could be a view counts as one here.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_READERS_H
#define LWCC_PASSES_SCHEDULE_READERS_H

#include "ir/train/Train.h"

#include "llvm/ADT/SetVector.h"

namespace lwcc {

/// Whether the results may be views of the first operand.
inline bool mayBeView(mlir::Operation *op) {
  return mlir::isa<train::ReshapeOp, train::TransposeOp, train::SliceOp,
                   train::SplitOp>(op);
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

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_READERS_H

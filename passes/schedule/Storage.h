//===- Storage.h - Which values share memory by construction ----*- C++ -*-===//
//
// Decides, for the values of one scheduled function, whose memory is whose:
//   - an argument's, a parameter's and a result's memory is given;
//   - a result that is tied to an operand lies in it (an update in place);
//   - a value that is written to a parameter is made there, where whoever reads
//     the old value has run before;
//   - what moves no bytes is a view: reshape, transpose, slice, split, and the
//     operands of a concat inside its result;
//   - a map overwrites an operand that nobody reads any more.
// Everything else gets memory of its own. Where bytes lie in an arena is the
// memory planner's decision, later.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_STORAGE_H
#define LWCC_PASSES_SCHEDULE_STORAGE_H

#include "ir/train/Train.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace lwcc {

/// Memory that several values may lie in.
struct Storage {
  /// Of memory that is given: what it is (an argument, a parameter's symbol, a
  /// result's number). Null for memory made by the function.
  mlir::Attribute given;
  /// The value whose type is the memory's.
  mlir::Value owner;
};

class StorageMap {
public:
  explicit StorageMap(mlir::func::FuncOp func) : func(func) {}

  /// Decides everything. Fails where a tied operand is still needed.
  mlir::LogicalResult run();

  struct Location {
    const Storage *storage;
    int64_t offset; ///< bytes
  };
  Location find(mlir::Value value) const;

  /// Ops that move no bytes and become no call.
  bool isView(mlir::Operation *op) const { return views.contains(op); }
  /// Whether a value lies exactly where the parameter or result does.
  bool liesIn(mlir::Value value, mlir::Attribute given) const;
  /// The same of what a train.write writes.
  bool liesInPlace(train::WriteOp write) const;
  /// The byte of the parameter where a train.write begins; fails if what it
  /// writes is not stored as one dense part there.
  mlir::FailureOr<int64_t> offsetOf(train::WriteOp write) const;

  /// The identities of given memory.
  static mlir::Attribute parameterKey(mlir::FlatSymbolRefAttr name) {
    return name;
  }
  static mlir::Attribute argumentKey(mlir::MLIRContext *context,
                                     unsigned argument);
  static mlir::Attribute resultKey(mlir::MLIRContext *context, unsigned result);

private:
  struct Node {
    Storage storage;
    int parent = -1;
    int64_t offset = 0; ///< in the parent
  };

  int nodeOf(mlir::Value value);
  std::pair<int, int64_t> rootOf(int node) const;
  /// Puts a value's own memory into another value's.
  void attach(int child, int parent, int64_t offset);
  bool isFresh(mlir::Value value);

  mlir::LogicalResult tie(mlir::Operation *op);
  void bindToGiven(mlir::Value value, int given, train::WriteOp write);
  void makeViews(mlir::Operation *op);
  void makeConcat(mlir::Operation *op);
  void overwrite(mlir::Operation *op);
  bool mayOverwriteAll(mlir::Operation *op, mlir::OpResult result,
                       mlir::Value operand, int root);
  void collectAccesses();

  mlir::func::FuncOp func;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, int> nodeOfValue;
  llvm::DenseMap<mlir::Attribute, int> givenNodes;
  llvm::DenseMap<int, train::ReadOp> reads; ///< by node of the parameter
  llvm::DenseSet<mlir::Operation *> views;
  llvm::DenseSet<int> hasParts; ///< nodes that others were attached to
  llvm::DenseMap<mlir::Operation *, int> position;
  /// Of each root: the ops that touch it.
  llvm::DenseMap<int, llvm::SmallVector<mlir::Operation *>> accesses;
};

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_STORAGE_H

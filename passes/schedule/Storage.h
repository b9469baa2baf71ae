//===- Storage.h - Which values share memory --------------------*- C++ -*-===//
//
// Decides, for the values of one function of the form `scheduled`, which of
// them share memory: the aliasing half of bufferization. Every value gets a
// storage and an offset in it. ToExec.cpp makes a root buffer of each storage
// and a view of each other value.
//
// The rules, in the order in which they are applied:
// - Given memory: an argument, a parameter and a result of the function have
//   memory of their own, which outlives the run.
// - Ties: a result that an op must make in place lies in its operand (an
//   update).
// - New values: what a train.write writes is made in the parameter, if all
//   readers of the old value run before its producer.
// - Views: reshape, transpose, slice and split move no bytes where layout
//   allows; operands of a concat are made inside its result.
// - Overwriting: a map's result lies in an operand that is not read later.
//
// The nouns:
//   storage  memory that one or more values share
//   given    a storage that exists before the function runs, with its identity
//   owner    the value whose type the storage has
//   node     a value or given memory, in the forest of values inside values;
//            its root's storage is where its bytes are
//
// Does not decide offsets in an arena, nor which storages share bytes there
// (passes/memory). ScheduleProblem's storages are an estimate of these.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_STORAGE_H
#define LWCC_PASSES_SCHEDULE_STORAGE_H

#include "ir/train/Train.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace lwcc {

/// A piece of memory that one or more values share.
struct Storage {
  /// The identity of given memory: a parameter's symbol, or the number of an
  /// argument or result. Null for memory that the function makes.
  mlir::Attribute given;
  /// The value whose type the storage has.
  mlir::Value owner;
};

/// The storages of one function, and where in them each value lies.
class StorageMap {
public:
  explicit StorageMap(mlir::func::FuncOp func) : func(func) {}

  /// Applies all rules. Fails, with a diagnostic, if the operand of a tie is
  /// read later.
  mlir::LogicalResult run();

  /// A byte of a storage.
  struct Location {
    const Storage *storage;
    int64_t offset; ///< bytes
  };
  Location find(mlir::Value value) const;

  /// Whether an op moves no bytes, so that it becomes no call.
  bool isView(mlir::Operation *op) const { return views.contains(op); }
  /// Whether a value lies exactly where the parameter or result does.
  bool liesIn(mlir::Value value, mlir::Attribute given) const;
  /// Whether what a train.write writes was made in its place, so that it needs
  /// no copy.
  bool liesInPlace(train::WriteOp write) const;
  /// The offset in the parameter at which a train.write begins, in bytes. Fails
  /// if the part that it writes is not stored as one dense range.
  mlir::FailureOr<int64_t> offsetOf(train::WriteOp write) const;

  /// The identities of given memory (Storage::given).
  static mlir::Attribute parameterKey(mlir::FlatSymbolRefAttr name) {
    return name;
  }
  static mlir::Attribute argumentKey(mlir::MLIRContext *context,
                                     unsigned argument);
  static mlir::Attribute resultKey(mlir::MLIRContext *context, unsigned result);

private:
  /// A value or given memory, as a part of its parent or as a root.
  struct Node {
    Storage storage;
    int parent = -1;
    int64_t offset = 0; ///< in the parent
  };

  int nodeOf(mlir::Value value);
  std::pair<int, int64_t> rootOf(int node) const;
  /// Makes a value's root a part of another value.
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
  llvm::DenseSet<int> hasParts; ///< nodes that are some node's parent
  llvm::DenseMap<mlir::Operation *, int> position;
  /// By root: the ops that read or write its bytes.
  llvm::DenseMap<int, llvm::SmallVector<mlir::Operation *>> accesses;
};

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_STORAGE_H

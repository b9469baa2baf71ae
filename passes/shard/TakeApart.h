//===- TakeApart.h - New ops in place of one --------------------*- C++ -*-===//
//
// What the parts of takeApart (Sharder.h) share: ops that do the work of an op
// which is taken apart, and say whose they are.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_TAKEAPART_H
#define LWCC_PASSES_SHARD_TAKEAPART_H

#include "passes/shard/TileRules.h"

namespace lwcc::shard {

/// Makes ops before one, with its layer, phase and tiling.
class Substitute {
public:
  explicit Substitute(mlir::Operation *op) : op(op), builder(op) {}

  template <typename OpT, typename... Args>
  OpT create(llvm::StringRef name, Args &&...args) {
    auto made = OpT::create(builder, op->getLoc(), std::forward<Args>(args)...);
    describe(made, name);
    return made;
  }
  /// An expression of inputs that are broadcast to each other.
  mlir::Value map(llvm::StringRef name, llvm::StringRef text,
                  mlir::ValueRange inputs);
  /// The sum over some axes, which are kept with extent 1 or dropped.
  mlir::Value sum(llvm::StringRef name, mlir::Value of,
                  llvm::ArrayRef<int64_t> axes, bool keep);

  mlir::Operation *const op;
  mlir::OpBuilder builder;

private:
  void describe(mlir::Operation *made, llvm::StringRef name);
};

/// What the mean of the losses of an op divides by, a loss or its gradient.
mlir::Value divisorOf(Substitute &make, train::LabelLossOpInterface op);

/// The quotient of a sum and what divisorOf gave. With no label that counts,
/// the loss and its gradient are 0.
mlir::Value overDivisor(Substitute &make, llvm::StringRef name, mlir::Value sum,
                        mlir::Value divisor);

/// Replaces an op by ops whose tiles each need only their classes, and sums
/// over all (TakeClassesApart.cpp).
void takeClassesApart(train::ClassesOpInterface op);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TAKEAPART_H

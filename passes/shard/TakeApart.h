//===- TakeApart.h - New ops in place of one --------------------*- C++ -*-===//
//
// Shared by TakeApart.cpp and TakeClassesApart.cpp, which replace one op by
// several: creates ops that carry the layer, phase and tiling of the op that
// they replace, and the divisor of a mean loss.
//
// Does not decide which ops are replaced (`takeApart` in TakeApart.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_TAKEAPART_H
#define LWCC_PASSES_SHARD_TAKEAPART_H

#include "passes/shard/TileRules.h"

namespace lwcc::shard {

/// Creates ops in front of one op, with its layer, phase and tiling.
class Substitute {
public:
  explicit Substitute(mlir::Operation *op) : op(op), builder(op) {}

  template <typename OpT, typename... Args>
  OpT create(llvm::StringRef name, Args &&...args) {
    auto made = OpT::create(builder, op->getLoc(), std::forward<Args>(args)...);
    describe(made, name);
    return made;
  }
  /// A `map` of the expression `text`; the inputs are broadcast to a common
  /// shape.
  mlir::Value map(llvm::StringRef name, llvm::StringRef text,
                  mlir::ValueRange inputs);
  /// The sum over `axes`. With `keep` these axes stay with extent 1, else they
  /// are dropped.
  mlir::Value sum(llvm::StringRef name, mlir::Value of,
                  llvm::ArrayRef<int64_t> axes, bool keep);

  mlir::Operation *const op;
  mlir::OpBuilder builder;

private:
  void describe(mlir::Operation *made, llvm::StringRef name);
};

/// The number by which a loss (or its gradient) divides the sum over samples to
/// get the mean: the sum of the weights of all labels that count
/// (`loss_weight`).
mlir::Value divisorOf(Substitute &make, train::LabelLossOpInterface op);

/// `sum` divided by the result of divisorOf. If no label counts, sum and
/// divisor are both 0.
mlir::Value overDivisor(Substitute &make, llvm::StringRef name, mlir::Value sum,
                        mlir::Value divisor);

/// Replaces an op that reads along the class dimension (softmax, losses, their
/// gradients, accuracy) by ops that can be cut along it: elementwise ops, and
/// maxima and sums over the classes (TakeClassesApart.cpp).
void takeClassesApart(train::ClassesOpInterface op);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TAKEAPART_H

//===- NumberLoss.h - Losses of numbers against targets ---------*- C++ -*-===//
//
// The ops of a loss that is the mean of an elementwise function, and of what is
// counted beside it. Which loss a model gets is decided in AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H
#define LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H

#include "ir/train/Losses.h"
#include "ir/train/Train.h"

namespace lwcc::train {

struct NumberLoss {
  mlir::Value loss; ///< a scalar; NaN if no target counts
  /// Two sums over the targets that count: of binary cross entropy how many
  /// are decided right, twice; else of absolute and of squared errors.
  mlir::Value counts;
};

/// `targets` has the shape of `output`; NaN is no target.
NumberLoss buildNumberLoss(mlir::OpBuilder &builder, mlir::Location loc,
                           const Loss &loss, mlir::Value output,
                           mlir::Value targets);

/// The op of a function's loss of numbers that reads the model's output; null
/// if it has none.
MapOp numberLossOf(mlir::func::FuncOp func);

/// `output` without a sigmoid at its end, which binary cross entropy contains;
/// as it is if there is none.
mlir::Value withoutSigmoid(mlir::OpBuilder &builder, mlir::Value output);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H

//===- NumberLoss.h - Losses of numbers against targets ---------*- C++ -*-===//
//
// The ops of a loss that is the mean of an elementwise function, and of what is
// counted beside it. Which losses a model gets is decided in AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H
#define LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H

#include "ir/train/Losses.h"
#include "ir/train/Train.h"

namespace lwcc::train {

struct NumberLoss {
  mlir::Value sum;  ///< over the targets that count
  mlir::Value mean; ///< a scalar; NaN if no target counts
};

/// The loss in a layer of this name. `targets` has the shape of `output`; NaN
/// is no target.
NumberLoss buildNumberLoss(mlir::OpBuilder &builder, mlir::Location loc,
                           const Loss &loss, mlir::Value output,
                           mlir::Value targets, llvm::StringRef layer);

/// Two sums over the targets that count: of binary cross entropy how many are
/// decided right, twice; where the output is the loss, its sum, twice; else of
/// absolute and of squared errors. The loss's own sum may be one of them.
mlir::Value buildCounts(mlir::OpBuilder &builder, mlir::Location loc,
                        const Loss &loss, mlir::Value lossSum,
                        mlir::Value output, mlir::Value targets,
                        llvm::StringRef layer);

/// The op of a function's loss of numbers that reads the model's output: of
/// several the last one, behind those of auxiliary outputs. Null if there is
/// none.
MapOp numberLossOf(mlir::func::FuncOp func);

/// `output` without a sigmoid at its end, which binary cross entropy contains;
/// as it is if there is none.
mlir::Value withoutSigmoid(mlir::OpBuilder &builder, mlir::Value output);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_NUMBERLOSS_H

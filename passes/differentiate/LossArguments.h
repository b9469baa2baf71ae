//===- LossArguments.h - What a loss takes of a model -----------*- C++ -*-===//
//
// The scores as a loss takes them, and the arguments of @model for labels.
// Which loss there is, is decided in AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_LOSSARGUMENTS_H
#define LWCC_PASSES_DIFFERENTIATE_LOSSARGUMENTS_H

#include "ir/train/Train.h"

namespace lwcc::train {

/// The layer of the main output's loss.
inline constexpr llvm::StringLiteral lossLayer = "loss";

/// The number of the first argument with this role.
std::optional<unsigned> findArgument(mlir::func::FuncOp func, Role role);

/// Adds an argument before `scalars`. Fails, reported, if there are none.
mlir::FailureOr<mlir::Value> addArgument(mlir::func::FuncOp func, Role role,
                                         llvm::StringRef name,
                                         llvm::ArrayRef<int64_t> shape,
                                         mlir::Type element);

/// One label for each vector of scores [n, c, ...].
llvm::SmallVector<int64_t> labelShape(mlir::RankedTensorType scores);

/// Scores as the losses take them: [n, c] or [n, c, ...], with the classes
/// second. Those of shape [n, c, 1, 1] are [n, c].
mlir::Value classesSecond(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value scores,
                          llvm::StringRef layer = lossLayer);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_LOSSARGUMENTS_H

//===- Auxiliary.h - Outputs trained beside the main one --------*- C++ -*-===//
//
// Reads which outputs these are, and adds their losses to the main one's. Which
// loss each gets is decided in AddLoss.cpp, unless it has one of its own.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_AUXILIARY_H
#define LWCC_PASSES_DIFFERENTIATE_AUXILIARY_H

#include "ir/train/Losses.h"
#include "ir/train/Train.h"

namespace lwcc::train {

/// An output that is trained beside the main one.
struct Auxiliary {
  llvm::StringRef name;
  double weight;
  mlir::Value output; ///< as the loss takes it
  const Loss *own;    ///< with labels of its own; null: the main one's
  /// As the file gives this one and the main one.
  std::string shape, mainShape;

  /// Of its loss. A layer of its own, so that a plan may have it where the
  /// output is made.
  std::string layer() const { return ("loss." + name).str(); }
};

/// Those that train.auxiliary lists; `outputs` are the main one and they.
llvm::SmallVector<Auxiliary> readAuxiliary(mlir::ArrayAttr list,
                                           mlir::ValueRange outputs);

/// The loss of each. All without a loss of their own must have the main
/// output's type; every other one is an error. To be made ahead of the main
/// output's loss, whose layer reads them: plans take layers in the order of
/// their first ops.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> lossesOf(
    llvm::ArrayRef<Auxiliary> auxiliary, mlir::RankedTensorType type,
    llvm::function_ref<mlir::FailureOr<mlir::Value>(const Auxiliary &)> lossOf);

/// The loss of an output that has one of its own, against labels that are
/// another argument. Fails, reported, if it cannot be taken of that output.
mlir::FailureOr<mlir::Value> buildOwnLoss(mlir::func::FuncOp func,
                                          mlir::OpBuilder &builder,
                                          const Auxiliary &each);

/// The sum of the main output's loss and the others, times their weights, in
/// the layer of that loss.
mlir::Value addLosses(mlir::OpBuilder &builder, mlir::Value loss,
                      llvm::ArrayRef<Auxiliary> auxiliary,
                      mlir::ValueRange losses);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_AUXILIARY_H

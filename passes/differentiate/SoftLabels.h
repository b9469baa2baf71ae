//===- SoftLabels.h - Cross entropy of distributions ------------*- C++ -*-===//
//
// The ops of a loss whose labels are distributions over the classes. Which loss
// a model has is decided in AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_SOFTLABELS_H
#define LWCC_PASSES_DIFFERENTIATE_SOFTLABELS_H

#include "ir/train/Train.h"

namespace lwcc::train {

/// What a loss of soft labels is taken of. Scores and shares are [n, classes];
/// a sample whose shares are NaN does not count, and has a label below zero.
struct SoftLabels {
  mlir::Value shares, labels;
  mlir::Value weights;  ///< of classes; null: all 1
  double smoothing = 0; ///< how much of each label is any class
};

/// PyTorch's cross_entropy of probabilities, with its class weights and label
/// smoothing: the mean over the samples, whatever their classes weigh. In a
/// layer of this name.
mlir::Value buildSoftLoss(mlir::OpBuilder &builder, mlir::Value scores,
                          const SoftLabels &soft, llvm::StringRef layer);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_SOFTLABELS_H

//===- LabelSmoothing.h - Cross entropy of smoothed labels ------*- C++ -*-===//
//
// Composes the smoothed loss from a loss of class labels and its
// log-probabilities. Which loss a model has is decided in AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_LABELSMOOTHING_H
#define LWCC_PASSES_DIFFERENTIATE_LABELSMOOTHING_H

#include "ir/train/Train.h"

namespace lwcc::train {

/// Whether `loss`, a scalar, is cross entropy or negative log-likelihood.
bool isOfClasses(mlir::Value loss);

/// `loss`, which is of classes, with labels that are right by 1 - amount, and
/// else any class, each as probable (Szegedy et al., "Rethinking the Inception
/// architecture", 2016, section 7). As label_smoothing of PyTorch's
/// cross_entropy, with the class weights, the ignored label and the reduction
/// that the loss has.
mlir::Value smoothLabels(mlir::OpBuilder &builder, mlir::Value loss,
                         double amount);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_LABELSMOOTHING_H

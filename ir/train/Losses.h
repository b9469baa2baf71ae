//===- Losses.h - The losses that lwcc adds to a model ----------*- C++ -*-===//
//
// Which losses --loss may name. Cross entropy is of class labels and has ops of
// its own (ops/Loss.cpp); the others are of numbers, and are the mean of an
// elementwise function (Elementwise.h) of the model's output and targets of its
// shape. A target of NaN does not count; that is all `output` reads of them.
//
// Which loss a model gets where nobody names one is decided by
// passes/differentiate/AddLoss.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_LOSSES_H
#define LWCC_IR_TRAIN_LOSSES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace lwcc::train {

struct Loss {
  llvm::StringLiteral name;  ///< of --loss
  llvm::StringLiteral title; ///< for people
  llvm::StringLiteral row;   ///< of Elementwise.h; "" of class labels
};

/// Null if there is none of this name.
const Loss *findLoss(llvm::StringRef name);

/// "cross-entropy, bce, ..."
std::string lossNames();

} // namespace lwcc::train

#endif // LWCC_IR_TRAIN_LOSSES_H

//===- ChooseLoss.h - Which loss a model's output is made for ---*- C++ -*-===//
//
// Looks at the end of a model that holds no loss, and says which of Losses.h it
// gets. Refuses an output that could be meant for several losses: one would
// fall without meaning anything. The loss is built elsewhere (AddLoss.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_CHOOSELOSS_H
#define LWCC_PASSES_DIFFERENTIATE_CHOOSELOSS_H

#include "ir/train/Losses.h"
#include "ir/train/Train.h"

namespace lwcc::train {

/// The loss of a file that has none: what was asked for, or what its output is
/// made for, which is said. Null after refusing an output that could be meant
/// for several.
const Loss *chooseLoss(mlir::func::FuncOp func, mlir::Value output);

/// The operand of the softmax over the classes that computes `scores`; `scores`
/// itself if none does.
mlir::Value withoutSoftmax(mlir::Value scores);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_CHOOSELOSS_H

//===- Optimizers.h - The table of optimizers -------------------*- C++ -*-===//
//
// One row per optimizer: the state that it keeps for every parameter, and the
// op that updates one. A new optimizer is a row here, an op in TrainOps.td and
// a function of the runtime. Its hyper-parameters are a row of the trainer's
// table (runtime/train/loop/Optimizers.h), of the same name.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_OPTIMIZERS_H
#define LWCC_PASSES_DIFFERENTIATE_OPTIMIZERS_H

#include "ir/train/Train.h"

namespace lwcc::train {

/// A tensor of the parameter's shape, named "<parameter>.<suffix>".
struct OptimizerState {
  llvm::StringRef suffix;
  double init;
};

/// What an update of one parameter makes of the trainer's weight decay and
/// learning rate.
struct UpdateScales {
  float decay = 1, lr = 1;
};
/// The same as discardable attributes of a parameter, f32, between
/// train-parameter-groups and train-autodiff; absent: 1.
inline constexpr llvm::StringLiteral decayScaleAttr = "train.decay_scale";
inline constexpr llvm::StringLiteral lrScaleAttr = "train.lr_scale";

/// The values that every update reads.
struct UpdateInputs {
  mlir::Value parameter, gradient;
  llvm::ArrayRef<mlir::Value> states;
  mlir::Value scalars, loss;
  UpdateScales scales;
};

struct Optimizer {
  llvm::StringRef name;
  llvm::ArrayRef<OptimizerState> states;
  /// An op whose results are the new parameter, then the new states.
  mlir::Operation *(*build)(mlir::OpBuilder &, mlir::Location,
                            const UpdateInputs &);
};

llvm::ArrayRef<Optimizer> optimizers();
const Optimizer *findOptimizer(llvm::StringRef name);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_OPTIMIZERS_H

//===- Optimizers.h - What the trainer knows of optimizers ------*- C++ -*-===//
//
// One row per optimizer: which of the trainer's flags are its hyper-parameters,
// their defaults, which are PyTorch's, and what numbers a step's updates get
// from them. The compiler's table of the same names (passes/differentiate)
// says which states there are and which function updates them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_OPTIMIZERS_H
#define LWCC_RUNTIME_TRAIN_LOOP_OPTIMIZERS_H

#include "runtime/core/Scalars.h"
#include "runtime/train/loop/Options.h"

#include <string>
#include <vector>

namespace lwcc::rt::train {

struct Optimizer {
  std::string name;               ///< of the compiler's --optimizer
  std::string title;              ///< for people
  std::vector<std::string> flags; ///< its own, without the dashes
  Options defaults;
  /// Sets what its updates read, of a step counted from 1; `lr` is there.
  void (*set)(const Options &options, int64_t step, StepScalars &scalars);
  /// Its hyper-parameters as one reads them: "momentum 0.9, weight decay 0".
  std::string (*describe)(const Options &options);
};

const std::vector<Optimizer> &optimizers();

/// The row of a name. Throws Error if there is none.
const Optimizer &optimizerOf(const std::string &name);

/// Throws Error with a line for every value that no flag's range refuses and
/// that the optimizer cannot have.
void checkHyperParameters(const Optimizer &optimizer, const Options &options);

/// The numbers of a step, counted from 1 over all epochs.
StepScalars scalarsOf(const Optimizer &optimizer, const Options &options,
                      double lr, int64_t step);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_OPTIMIZERS_H

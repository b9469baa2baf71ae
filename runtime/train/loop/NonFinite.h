//===- NonFinite.h - Where a NaN comes from ---------------------*- C++ -*-===//
//
// A step whose loss is not finite has changed no parameter, so running it once
// more, one operator at a time, shows which result is the first that holds a
// NaN or an infinity.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_NONFINITE_H
#define LWCC_RUNTIME_TRAIN_LOOP_NONFINITE_H

#include "runtime/train/data/DataSource.h"
#include "runtime/train/loop/StepQueue.h"

#include <string>

namespace lwcc::rt::train {

/// A sentence for people. `source` has the step's images; `result` is of a step
/// of `sequence` whose batch has not been released; no other step is running.
std::string explainNonFinite(Machine &machine, const Program &program,
                             const DataSource &source, Sequence *sequence,
                             const StepResult &result);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_NONFINITE_H

//===- Weights.h - Where a program's initial weights are --------*- C++ -*-===//
//
// They are embedded in the program up to some size (lwcc decides: Build.cpp),
// and in a file beside it above that. findWeights (core/Program.h) finds them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_WEIGHTS_H
#define LWCC_RUNTIME_TRAIN_STATE_WEIGHTS_H

#include <string>

namespace lwcc::rt::train {

/// The file that holds them if the running program does not.
std::string weightsPath();

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_WEIGHTS_H

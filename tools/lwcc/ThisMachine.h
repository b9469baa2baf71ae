//===- ThisMachine.h - Plans without --machine ------------------*- C++ -*-===//
//
// The machine that plans are priced for without --machine. It is the one that
// lwcc runs on, if `lwcc machine --probe` has described it in a file and it has
// enough devices. Else it is
// - for the CPU the built-in machine "cpu",
// - for GPUs as many H200 in one node as are asked for. This is a guess, and
//   TrainPlan.cpp prints a note about it.
// Asking the driver for the GPU's name would not do: the driver knows no rates.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_THISMACHINE_H
#define LWCC_TOOLS_LWCC_THISMACHINE_H

#include "tools/lwcc/Build.h"

namespace lwcc {

/// $XDG_CACHE_HOME/lwcc/machine-cuda.json, or below ~/.cache; "" without a
/// home.
std::string probedFile(Target target);

/// A value for --machine; "" for the guess. A file that cannot be read is
/// returned, too, so that its mistakes are reported.
std::string thisMachine(Target target, int64_t gpus);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_THISMACHINE_H

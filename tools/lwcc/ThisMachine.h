//===- ThisMachine.h - Plans without --machine ------------------*- C++ -*-===//
//
// What plans are priced for if nobody says: the machine that lwcc runs on, once
// it was probed (`lwcc machine --probe` writes the file that is looked for),
// if it has that many devices; else
// - for the CPU the built-in machine "cpu",
// - for GPUs as many H200 in one node as are asked for. This is a guess, and
//   whoever is given a plan that was priced by it is told (TrainPlan.cpp).
// A query such as nvidia-smi's would not do: it knows no rates.
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

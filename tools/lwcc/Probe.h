//===- Probe.h - What a machine is capable of -------------------*- C++ -*-===//
//
// Measures the rates of the machine that lwcc runs on (`lwcc machine --probe`).
// Compiles a small model of its own, runs the trainer with --trace for some
// steps, and takes the medians of the calls whose work is known. A second
// program has some layers on another device, so that transfers are timed.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_PROBE_H
#define LWCC_TOOLS_LWCC_PROBE_H

#include "passes/plan/machine/Machine.h"
#include "tools/lwcc/Build.h"

namespace lwcc {

/// Describes `gpus` devices of this machine, or all for 0; with `ranks`, also
/// what two processes take to exchange, as its network.
llvm::Expected<plan::Machine> probe(Target target, int64_t gpus,
                                    bool ranks = false);

/// The network between the ranks of a program, from the log of its benchmark
/// (trainer --benchmark=N --log=FILE).
llvm::Expected<plan::Link> networkFromLog(llvm::StringRef file);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_PROBE_H

//===- Benchmark.h - How long a step takes ----------------------*- C++ -*-===//
//
// --benchmark=N: training steps on one synthetic batch that stays on the
// device, after a warm-up of half as many; median, extremes and spread of the
// time from the end of one step to the end of the next, and memory.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_BENCHMARK_H
#define LWCC_RUNTIME_TRAIN_LOOP_BENCHMARK_H

#include "runtime/core/Program.h"
#include "runtime/train/data/Transform.h"
#include "runtime/train/loop/Options.h"

#include <chrono>

namespace lwcc::rt::train {

/// A batch's worth of synthetic samples.
DataSet benchmarkData(const Program &program);

/// `start` is when the program started. Prints to stdout, and one record to
/// --log; the steps behind the warm-up go to --trace.
void runBenchmark(Machine &machine, const Program &program,
                  const Options &options,
                  std::chrono::steady_clock::time_point start);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_BENCHMARK_H

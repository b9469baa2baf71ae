//===- ProgramTime.h - How long a program's step takes ----------*- C++ -*-===//
//
// How long a step of a program takes. Lanes run their calls in order and wait
// for events, as in the runtime. A call takes as long as the cost model says;
// what it reads on other devices also takes links (../machine/Links.h). Compute
// lanes of a CPU device have a part of its threads each; those of a GPU share
// it (LaneSharing.h).
//
// Measured times vary, and of two lanes that wait for each other the later one
// counts each time. So a wait ends at the expected maximum of two random times
// (Clark, "The greatest of a finite set of random variables", 1961).
//
// The program that carries a plan out has the last word on it. The simulator
// (Simulator.h) must be quick and knows less: layers always go in the model's
// order, and what takes a layer apart (../../shard/TakeApart.h) is not in it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_PROGRAMTIME_H
#define LWCC_PASSES_PLAN_PRICE_PROGRAMTIME_H

#include "passes/plan/model/Program.h"
#include "passes/plan/price/CostModel.h"

#include "llvm/Support/raw_ostream.h"

namespace lwcc::plan {

struct ProgramTime {
  /// A call, and when it runs: seconds since the step's start.
  struct TimedCall {
    int call, lane; ///< of the program
    double begin, seconds;
  };
  Program program;
  std::vector<TimedCall> calls; ///< in the order of appending
  double step = 0;              ///< seconds
  /// Of the seconds of all calls, those that were measured and interpolated;
  /// the others are the roofline's.
  double all = 0, measured = 0, interpolated = 0;
  std::string source; ///< of the costs, for people
};

ProgramTime timeOf(Program program, const Machine &machine,
                   const CostModel &costs);

/// How long a call takes if nothing else runs, in seconds.
double secondsAlone(const PricedCall &call, const Machine &machine,
                    const CostModel &costs);

/// A line of text per lane, a letter per layer for each `step / columns`; then
/// what the letters mean, and how much of the time each lane is busy.
void printTimeline(const ProgramTime &time, llvm::raw_ostream &os);

/// Chrome's trace format, with the fields of the trainer's --trace.
void printTrace(const ProgramTime &time, llvm::raw_ostream &os);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_PROGRAMTIME_H

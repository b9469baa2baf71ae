//===- ProgramTime.h - How long a program's step takes ----------*- C++ -*-===//
//
// Plays a sequence of an exec program as the runtime does: lanes run their
// calls in order and wait for events. What a call takes is the cost model's
// business, but for what it reads on other devices, which takes links
// (Links.h). Times that were measured vary, and of two lanes that wait for each
// other the later one counts each time: a wait ends when the later of two
// random times is expected (Clark, "The greatest of a finite set of random
// variables", 1961). So the last word on a plan is had by the very program that
// carries it out; the simulator (Simulator.h), which must be quick, knows less:
// no assembly of regions, no views, no order within a layer.
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

/// A line of text per lane, a letter per layer for each `step / columns`; then
/// what the letters mean, and how much of the time each lane is busy.
void printTimeline(const ProgramTime &time, llvm::raw_ostream &os);

/// Chrome's trace format, with the fields of the trainer's --trace.
void printTrace(const ProgramTime &time, llvm::raw_ostream &os);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_PROGRAMTIME_H

//===- Bars.h - The bars of a timeline --------------------------*- C++ -*-===//
//
// Decides what a bar of a timeline is: a turn of a lane, which is calls of one
// layer in one phase, one behind the other. In a plan that orders micro-batches
// a turn is all calls of one micro-batch in one phase. Turns that are too short
// to be seen share a bar with their neighbours, so that a picture stays small
// whatever the program.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_REPORT_BARS_H
#define LWCC_TOOLS_REPORT_BARS_H

#include "passes/plan/price/ProgramTime.h"

#include <vector>

namespace lwcc::report {

/// A bar of a lane.
struct Bar {
  llvm::StringRef layer, phase;
  int batch = -1; ///< the number of a micro-batch, -1 without any
  int turns = 1;  ///< that share it
  int calls = 1;
  double begin = 0, end = 0; ///< seconds
  double longest = 0;        ///< call, of which are the layer and the phase
  double seconds() const { return end - begin; }
};

/// The bars of each lane of a program, in order. A bar that several turns share
/// would have been shorter than `shortest` seconds, or than what keeps the bars
/// of all lanes few.
std::vector<std::vector<Bar>> barsOf(const plan::ProgramTime &time,
                                     bool inMicroBatches, double shortest);

} // namespace lwcc::report

#endif // LWCC_TOOLS_REPORT_BARS_H

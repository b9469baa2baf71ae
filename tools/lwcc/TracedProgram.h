//===- TracedProgram.h - What a trace says of a program's calls -*- C++ -*-===//
//
// Matches the calls of an exec program with the spans in a trace of its
// trainer, and groups them by the calls' keys (Call.h): calls of one key cost
// alike. Also finds the gaps between calls in which a lane waits for nothing.
// Copies from the program what it needs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_TRACEDPROGRAM_H
#define LWCC_TOOLS_LWCC_TRACEDPROGRAM_H

#include "ir/exec/Exec.h"
#include "tools/lwcc/CallTimes.h"

#include "llvm/ADT/StringMap.h"

#include <set>

namespace lwcc {

/// All times of calls that a cost model takes for equal.
struct CallSamples {
  double work = 0; ///< floating-point operations of a product, else bytes
  std::vector<double> seconds;
};

class TracedProgram {
public:
  /// Looks at the training step.
  explicit TracedProgram(exec::ProgramOp program);

  /// On how many it computes.
  int64_t devices() const { return static_cast<int64_t>(computing.size()); }

  /// Adds what `times` tells to the samples of keyOf (Call.h) and to those of
  /// Profile's own keys. If they are not of all calls of this program, of each
  /// step once, an error says what differs, and nothing is added.
  llvm::Error addTo(llvm::StringMap<CallSamples> &samples,
                    const CallTimes &times) const;

private:
  struct Position {
    size_t lane, number; ///< of the lane's calls in a step
  };
  struct Call {
    std::string function, key;
    double work;
    std::vector<Position> after; ///< calls of other lanes, by events
  };
  struct Interval {
    double begin = 0, end = 0;
  };
  using Step = std::vector<std::vector<Interval>>; ///< by lane and number

  llvm::Error check(const CallTimes &times) const;
  void addWaking(CallSamples &samples, const Step &step) const;

  std::string hash, precision;
  int64_t batch = 0;
  std::set<std::string> computing; ///< devices
  std::vector<std::vector<Call>> lanes;
};

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_TRACEDPROGRAM_H

//===- CallTimes.h - What a trace says about calls --------------*- C++ -*-===//
//
// How long the calls of a trainer's steps took, from the file that its --trace
// wrote (runtime/train/report/Trace.h). The file may come from another machine
// and a stranger; what does not look like a trace is an error. TracedProgram
// decides whether it is a trace of a given program.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_CALLTIMES_H
#define LWCC_TOOLS_LWCC_CALLTIMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace lwcc {

class CallTimes {
public:
  static llvm::Expected<CallTimes> read(llvm::StringRef traceFile);

  /// Median seconds of the forward pass' calls of a function ("": of any) for
  /// layers whose names begin like this; there are some.
  double median(llvm::StringRef function, llvm::StringRef layer) const;
  /// From the first call's begin to the last one's end.
  double seconds() const;
  struct Call {
    std::string function, layer, phase;
    size_t lane, number; ///< of the program; of the lane's calls in a step
    int64_t step;
    double begin, seconds; ///< on any clock; that it took
  };
  std::vector<Call> calls;
  std::string target, device;  ///< what it ran on; the latter in words
  std::string hash, precision; ///< of the model; of products
  int64_t batch = 0;
  int64_t threads = 0; ///< of CPUs
};

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_CALLTIMES_H

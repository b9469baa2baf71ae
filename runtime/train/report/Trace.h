//===- Trace.h - When every call of a step ran ------------------*- C++ -*-===//
//
// --trace=FILE: what really happened in some steps, in the JSON object format
// of chrome://tracing, which Perfetto reads too.
//
//   {"traceEvents": [
//     one a device  {"name": "process_name", "ph": "M", "pid": DEVICE, ...}
//     one a lane    {"name": "thread_name", "ph": "M", "pid", "tid": LANE, ...}
//     one a call    {"name": FUNCTION, "cat": PHASE, "ph": "X", "pid", "tid",
//                    "ts", "dur": microseconds to three places,
//                    "args": {"layer": ONNX layer, "step", "call"}}
//    ], "otherData": {"program", "hash", "compiler", "plan", "batch",
//    "precision", "target", "device", and for CPU lanes "threads" of each}}
//
// Lanes are numbered over all devices, as in the program. Calls come step by
// step (numbered as in --log), each step in the program's order; "call" counts
// a lane's calls of one step from 0, so that it names a call of the program.
// All times are of one clock, 0 at the first call. A lane's waits are gaps.
// The callers decide which steps are traced; Machine::runTraced decides what is
// timed. `lwcc profile --trace` reads the file (tools/lwcc/CallTimes.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_TRACE_H
#define LWCC_RUNTIME_TRAIN_REPORT_TRACE_H

#include "runtime/core/Program.h"

#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

class FileWriter;

class Trace {
public:
  /// Of `count` steps from step `first` on. No path: of none.
  Trace(const Machine &machine, const Program &program, std::string path,
        int64_t first, int64_t count)
      : machine(machine), program(program), path(std::move(path)), first(first),
        count(this->path.empty() ? 0 : count) {}

  /// Whether a step is to be traced.
  bool covers(int64_t step) const {
    return step >= first && step < first + count;
  }
  bool endsWith(int64_t step) const { return step == first + count - 1; }
  /// Takes the calls of a traced step, which live as long as the machine;
  /// steps are given in order.
  void add(int64_t step, const std::vector<TracedCall> &calls) {
    steps.emplace_back(step, &calls);
  }
  /// Writes the steps so far. False if there is no file to write, or it is
  /// written.
  bool write();

private:
  void writeTo(FileWriter &file) const;
  std::string description() const;

  const Machine &machine;
  const Program &program;
  const std::string path;
  const int64_t first, count;
  /// By their numbers.
  std::vector<std::pair<int64_t, const std::vector<TracedCall> *>> steps;
  bool written = false;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_TRACE_H

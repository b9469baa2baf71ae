//===- Parts.h - A check in parts, each in its own process ------*- C++ -*-===//
//
// Runs each part of a check in a process of its own, since a GPU fault makes
// every later call of its process fail. A part cannot be checked if it ends
// with rt::NoDevice; if anything else stops it, it has failed.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_OPS_PARTS_H
#define LWCC_TEST_OPS_PARTS_H

#include <functional>
#include <string>
#include <vector>

namespace lwcc::check {

struct Counts {
  int checks = 0, failures = 0;
};

/// A part of a check (shard::Part is a part of a tensor).
struct Part {
  std::string name;
  std::function<Counts()> run;
};

/// How a part, or the whole check, ended.
enum ExitCode { exitPassed = 0, exitFailed = 1, exitNoDevice = 77 };

/// Runs the parts; prints a line per part, and the sum. The calling process
/// must not have used the device.
ExitCode runParts(const std::vector<Part> &parts);

} // namespace lwcc::check

#endif // LWCC_TEST_OPS_PARTS_H

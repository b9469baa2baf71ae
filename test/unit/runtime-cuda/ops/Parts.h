//===- Parts.h - Checks that cannot silence each other ----------*- C++ -*-===//
//
// Runs every part of a check in a process of its own: a fault of a GPU ends
// all further work of its process, and must end no more than that. Only
// rt::NoDevice counts as "cannot be checked here"; everything else that stops
// a part is a failure.
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

struct Part {
  std::string name;
  std::function<Counts()> run;
};

/// What ended the process: all passed, a failure, no device.
enum ExitCode { exitPassed = 0, exitFailed = 1, exitNoDevice = 77 };

/// Prints a line per part and the sum. The calling process must not have
/// touched the device yet.
ExitCode runParts(const std::vector<Part> &parts);

} // namespace lwcc::check

#endif // LWCC_TEST_OPS_PARTS_H

//===- Error.h - Mistakes of the trainer's user -----------------*- C++ -*-===//
//
// Thrown for what a user can cause (bad data, a full disk, no GPU) and caught
// once, in trainMain, which prints the message and exits with code 1.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_ERROR_H
#define LWCC_RUNTIME_CORE_ERROR_H

#include <stdexcept>
#include <string>

namespace lwcc::rt {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This machine has no device that the backend could run on.
struct NoDevice : Error {
  using Error::Error;
};

/// A process that runs some of the devices is gone. What it knew is lost, not
/// the training: its last checkpoint can be continued. No Error, since whoever
/// goes on after one, without an output perhaps, cannot after this.
struct RankLost : std::runtime_error {
  using std::runtime_error::runtime_error;
  /// As sysexits.h's EX_TEMPFAIL, on which launchers start again.
  static constexpr int exitCode = 75;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_ERROR_H

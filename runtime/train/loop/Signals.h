//===- Signals.h - Being asked to stop --------------------------*- C++ -*-===//
//
// While a StopSignals lives, SIGINT, SIGTERM and SIGHUP only leave a note, so
// that the trainer can finish its step and keep what it has learned. The
// second SIGINT or SIGTERM ends the program at once, without half files; that
// of a few milliseconds later is the same request (`timeout` signals a process
// and then its group). A closed standard output does not end the program
// either: whoever writes to it finds out, and requests the stop.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_LOOP_SIGNALS_H
#define LWCC_RUNTIME_TRAIN_LOOP_SIGNALS_H

#include <csignal>
#include <string>

namespace lwcc::rt::train {

class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The signal that asked to stop, or 0.
  int received() const;
  /// As if `signal` had come, unless one has.
  static void request(int signal);

  static constexpr int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

private:
  struct sigaction old[std::size(caught)];
};

/// "SIGINT", or "a closed standard output" for SIGPIPE
std::string signalText(int signal);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_LOOP_SIGNALS_H

//===- Signals.h - Being asked to stop --------------------------*- C++ -*-===//
//
// While a StopSignals lives, the first SIGINT or SIGTERM only leaves a note,
// so that the trainer can finish its step and save a checkpoint; the second
// one ends the program as usual.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_SIGNALS_H
#define LWCC_RUNTIME_TRAIN_SIGNALS_H

#include <csignal>

namespace lwcc::rt::train {

class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The signal that asked to stop, or 0.
  int received() const;

private:
  struct sigaction oldInterrupt, oldTerminate;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_SIGNALS_H

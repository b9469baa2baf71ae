//===- Signals.cpp - Being asked to stop ----------------------------------===//

#include "runtime/train/Signals.h"

#include <atomic>

namespace lwcc::rt::train {

/// A signal handler can reach nothing but a static.
static std::atomic<int> note{0};
static_assert(std::atomic<int>::is_always_lock_free);

static void leaveNote(int signal) { note = signal; }

StopSignals::StopSignals() {
  note = 0;
  struct sigaction action = {};
  action.sa_handler = leaveNote;
  // Once; and no call that is under way shall fail because of it.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &oldInterrupt);
  ::sigaction(SIGTERM, &action, &oldTerminate);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
}

int StopSignals::received() const { return note; }

} // namespace lwcc::rt::train

//===- Signals.cpp - Being asked to stop ----------------------------------===//

#include "runtime/train/loop/Signals.h"

#include "runtime/train/files/Temporaries.h"

#include <atomic>
#include <cerrno>

#include <time.h>

namespace lwcc::rt::train {

/// A signal handler can reach nothing but a static.
static std::atomic<int> note{0};
static std::atomic<int64_t> firstRequest{0}; ///< ms; of SIGINT or SIGTERM
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<int64_t>::is_always_lock_free);

/// Far more than between two sends of one program, less than between two keys.
static constexpr int64_t sameRequest = 50;

static int64_t milliseconds() {
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void leaveNote(int signal) {
  int reason = errno;
  int none = 0;
  note.compare_exchange_strong(none, signal);
  // A terminal that goes away may say so twice; nobody is impatient then.
  if (signal != SIGHUP) {
    int64_t now = milliseconds(), first = 0;
    if (!firstRequest.compare_exchange_strong(first, now) &&
        now - first > sameRequest) {
      removeTemporaries();
      ::signal(signal, SIG_DFL);
      ::raise(signal); // when this returns
    }
  }
  errno = reason;
}

StopSignals::StopSignals() {
  note = 0;
  firstRequest = 0;
  struct sigaction action = {};
  // No call that is under way shall fail because of it.
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(caught); ++i) {
    action.sa_handler = caught[i] == SIGPIPE ? SIG_IGN : leaveNote;
    ::sigaction(caught[i], &action, &old[i]);
    // nohup's wish.
    if (caught[i] == SIGHUP && old[i].sa_handler == SIG_IGN)
      ::sigaction(caught[i], &old[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(caught); ++i)
    ::sigaction(caught[i], &old[i], nullptr);
}

int StopSignals::received() const { return note; }

void StopSignals::request(int signal) {
  int none = 0;
  note.compare_exchange_strong(none, signal);
}

std::string signalText(int signal) {
  switch (signal) {
  case SIGINT:
    return "SIGINT";
  case SIGTERM:
    return "SIGTERM";
  case SIGHUP:
    return "SIGHUP";
  case SIGPIPE:
    return "a closed standard output";
  }
  return "signal " + std::to_string(signal);
}

} // namespace lwcc::rt::train

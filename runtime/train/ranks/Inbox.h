//===- Inbox.h - Messages that wait to be carried out -----------*- C++ -*-===//
//
// Between the thread of a follower that listens and the one that does what is
// asked. Beside it, how a rank but the first keeps quiet.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_INBOX_H
#define LWCC_RUNTIME_TRAIN_RANKS_INBOX_H

#include "runtime/train/ranks/Channel.h"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace lwcc::rt::train {

/// Standard output or error, of which only rank 0 has one, goes nowhere.
class Silenced {
public:
  explicit Silenced(int stream) : stream(stream), kept(::dup(stream)) {
    if (int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
      ::dup2(null, stream);
      ::close(null);
    }
  }
  ~Silenced() {
    std::fflush(nullptr);
    if (kept >= 0) {
      ::dup2(kept, stream);
      ::close(kept);
    }
  }

private:
  const int stream, kept;
};

/// Messages that wait to be done.
class Inbox {
public:
  void add(Received message) {
    std::lock_guard lock(mutex);
    messages.push_back(std::move(message));
    changed.notify_one();
  }
  Received take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !messages.empty(); });
    Received first = std::move(messages.front());
    messages.pop_front();
    return first;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Received> messages;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_INBOX_H

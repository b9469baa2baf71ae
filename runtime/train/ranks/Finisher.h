//===- Finisher.h - What follows when runs are over -------------*- C++ -*-===//
//
// A thread of a follower that waits for runs and reads in their order, gives
// batches back to their loaders, and sends rank 0 what it has asked for.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_FINISHER_H
#define LWCC_RUNTIME_TRAIN_RANKS_FINISHER_H

#include "runtime/core/Machine.h"
#include "runtime/train/data/BatchLoader.h"
#include "runtime/train/ranks/Channel.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// What is kept until the machine is through with it.
struct Kept {
  int64_t ticket = 0;
  std::vector<std::pair<BatchLoader *, Batch *>> batches;
  std::deque<std::string> written; ///< a deque: they stay in place
  int64_t request = -1;            ///< that the bytes answer
  std::unique_ptr<std::vector<char>> bytes;
};

class Finisher {
public:
  /// `onError` is told once why nothing more is finished.
  Finisher(Machine &machine, Channel &channel,
           std::function<void(const std::string &)> onError);
  /// Returns when all is over that was added.
  ~Finisher();
  void add(Kept kept);

private:
  void work();
  void finish(const Kept &kept);

  Machine &machine;
  Channel &channel;
  std::function<void(const std::string &)> onError;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Kept> waiting;
  bool isEnding = false;
  std::thread thread;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_FINISHER_H

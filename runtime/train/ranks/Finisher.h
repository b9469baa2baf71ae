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
#include "runtime/train/ranks/HostBlocks.h"

#include <condition_variable>
#include <deque>
#include <functional>
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
  std::vector<HostBlocks::Block> written;
  int64_t request = -1; ///< that what was read answers
  HostBlocks::Block read;
  size_t bytes = 0; ///< of it
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

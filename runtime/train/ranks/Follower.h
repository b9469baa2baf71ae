//===- Follower.h - What ranks but the first do -----------------*- C++ -*-===//
//
// Prepares data as rank 0 says, then does what it is asked for in the order of
// asking: record, fill batches, write, run, read. Decides nothing, writes no
// file, and says nothing but why it ends, if that is not as planned.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_RANKS_FOLLOWER_H
#define LWCC_RUNTIME_TRAIN_RANKS_FOLLOWER_H

#include "runtime/core/Machine.h"
#include "runtime/train/data/BatchLoader.h"
#include "runtime/train/ranks/Team.h"

#include <functional>
#include <memory>
#include <vector>

namespace lwcc::rt::train {

/// How a follower gets what only the command line knows.
struct FollowerSetup {
  /// Opens the data of a training with these flags: those to train on, then
  /// those to validate on, if there are. They live as long as the follower.
  std::function<std::vector<const DataSet *>(const Welcome &welcome)> openData;
  /// Makes the machine of this rank.
  std::function<std::unique_ptr<Machine>(const Ranks &ranks, int threads)>
      createMachine;
};

/// Returns the exit code that rank 0 gives.
int follow(const Launch &launch, const Program &program,
           const FollowerSetup &setup);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_RANKS_FOLLOWER_H

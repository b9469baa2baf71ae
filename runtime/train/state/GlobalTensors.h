//===- GlobalTensors.h - Logical tensors on the host ------------*- C++ -*-===//
//
// The nouns of this room:
//
//   global tensor  a tensor of the model under its ONNX name, whatever the plan
//   shard          the tile of it that one device holds; two shards with the
//                  same elements are replicas of each other
//   state          the global tensors that outlive a step (Program::state):
//                  parameters, running statistics, optimizer state, constants
//   staged tensor  pinned host memory for a global tensor that changes in every
//                  step, laid out as the devices store it
//   checkpoint     all state but the constants, in a folder (Checkpoint.h)
//
// This file moves a global tensor between dense row-major host memory and its
// shards: it reads every distinct shard once and writes all replicas. It is the
// only place of the trainer that knows of a plan's tilings and devices.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_STATE_GLOBALTENSORS_H
#define LWCC_RUNTIME_TRAIN_STATE_GLOBALTENSORS_H

#include "runtime/core/Program.h"

#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

int64_t elementsOf(const GlobalTensor &tensor);
DType typeOf(const GlobalTensor &tensor);
int64_t bytesOf(const GlobalTensor &tensor);

/// Waits for earlier runs. `host` holds bytesOf(tensor) bytes.
void readGlobal(Machine &machine, const GlobalTensor &tensor, void *host);
void writeGlobal(Machine &machine, const GlobalTensor &tensor,
                 const void *host);

/// Pinned host memory for one global tensor that is written in every step: of
/// each shard its elements as they are stored on the device, so that sending
/// them is a plain copy. Replicas share theirs.
class StagedTensor {
public:
  /// Throws Error: too little memory.
  StagedTensor(Machine &machine, const GlobalTensor &tensor);

  /// The part with this index in the first dimension, row-major; any thread
  /// may put or get parts of a tensor that no other works on.
  void put(int64_t index, const void *elements);
  void get(int64_t index, void *elements) const;
  /// In order with runs, to the devices of this process; the memory is in use
  /// until the next synchronize or the wait for a later ticket.
  void writeAsync(Machine &machine) const;

private:
  /// Where a part's elements are in a shard, and in a row-major copy of the
  /// part; neither if the shard has none of them.
  struct Views {
    Tensor inShard, inPart;
  };
  Views viewsOf(size_t shard, int64_t index, void *elements) const;

  const GlobalTensor *tensor;
  std::vector<char *> memory; ///< of each shard
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_STATE_GLOBALTENSORS_H

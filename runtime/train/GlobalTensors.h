//===- GlobalTensors.h - Logical tensors on the host ------------*- C++ -*-===//
//
// Moves a global logical tensor between dense row-major host memory and the
// shards that hold it: reads every distinct shard once, writes all replicas.
// The trainer sees nothing else of a plan's tilings and places.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_GLOBALTENSORS_H
#define LWCC_RUNTIME_TRAIN_GLOBALTENSORS_H

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

/// Pinned host memory for one global tensor that is written in every step. A
/// shard that is not contiguous in it gets memory of its own, into which
/// pack() copies; pack may run on any thread.
class StagedTensor {
public:
  StagedTensor(Machine &machine, const GlobalTensor &tensor);

  template <typename T>
  T *as() {
    return reinterpret_cast<T *>(host);
  }
  void pack();
  /// In order with runs; the memory is in use until the next synchronize or
  /// the wait for a later ticket.
  void writeAsync(Machine &machine) const;

private:
  const GlobalTensor *tensor;
  char *host;
  std::vector<char *> shards; ///< where each shard's elements lie, densely
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_GLOBALTENSORS_H

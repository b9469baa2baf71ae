//===- Ranks.h - Which process runs which devices ---------------*- C++ -*-===//
//
// A program's devices may be divided among ranks: processes that all run the
// same program. Each records whole sequences and runs the lanes of its own
// devices; what its lanes read of other ranks' devices is sent to it
// (runtime/exchange). Rank 0 holds the trainer, which reaches the devices of
// others by RemoteDevices.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_RANKS_H
#define LWCC_RUNTIME_CORE_RANKS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt {

class Transport;

/// What parcels between rank 0 and another take; of several, the slowest.
struct RankLink {
  double latency = 0;   ///< seconds, one way
  double bandwidth = 0; ///< bytes per second, to rank 0
};

/// The devices of other ranks, as rank 0 reaches them. What is asked of a rank
/// happens in the order of asking. Each throws Error if a rank is lost.
class RemoteDevices {
public:
  virtual ~RemoteDevices() = default;
  /// The other ranks record a sequence of this name, too.
  virtual void record(const char *name) = 0;
  /// They prepare the rows of batches that their devices need, as `settings`
  /// say (train/data/BatchLoader.h); the loader's number.
  virtual int openLoader(const std::string &settings) = 0;
  /// The loader's next batch is what the next run reads.
  virtual void stage(int loader) = 0;
  /// They run the sequence that was recorded as the `sequence`-th.
  virtual void run(int sequence) = 0;
  /// They answer Machine::measureRanks.
  virtual void measure() = 0;
  /// Bytes [offset, offset + bytes) of a device's arena.
  virtual void write(int device, int64_t offset, const void *data,
                     int64_t bytes) = 0;
  /// Asks for such bytes, behind all runs so far; await waits for them.
  virtual int64_t askFor(int device, int64_t offset, int64_t bytes) = 0;
  virtual void await(int64_t request, void *data) = 0;
  /// Of a training: where it could be continued if a rank is lost.
  virtual void saved(int64_t step, const std::string &checkpoint) = 0;
};

struct Ranks {
  int rank = 0; ///< this process
  int count = 1;
  std::vector<int> ofDevice; ///< by device
  /// By rank, what is equal where two ranks share a machine; empty: each has
  /// one of its own.
  std::vector<std::string> hosts;
  Transport *transport = nullptr;
  RemoteDevices *remote = nullptr; ///< of rank 0
  /// Called when a rank can be reached no more.
  std::function<void(int rank, const std::string &why)> onLost;

  bool isLocal(int device) const { return ofDevice[device] == rank; }
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_RANKS_H

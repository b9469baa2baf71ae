//===- Lane.h - The CPU backend's lanes, events and sequences ---*- C++ -*-===//
//
// What the operators of this backend see of the machine: a lane to which they
// append closures, the lane's number of threads, and its workspace, one block
// that all operators of a lane share because they run one after the other.
// Operators ask for workspace while they are recorded; its address is known
// only when they run, since a later operator may need more.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_LANE_H
#define LWCC_RUNTIME_CPU_LANE_H

#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"
#include "runtime/cpu/Arena.h"
#include "runtime/exchange/RunCounter.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt {

class CpuLane;
class CpuEvent;

/// Something appended to a lane: an operator's work, or one of an event's ends.
struct Entry {
  enum Kind { work, record, wait };
  Kind kind = work;
  CpuLane *lane = nullptr;
  CpuEvent *event = nullptr; ///< record, wait
  std::function<void()> run; ///< work
  const char *op = "";       ///< work: the runtime function's name
  std::string layer, phase;  ///< work: what it serves
  Tensors results;           ///< work: for Machine::runObserved
  int number = 0;            ///< work: counts the sequence's operators
  /// work: what it reads on other devices, by device
  std::vector<MovedBytes> received;
  Tensors read; ///< work: the operands of `received`, one for each
};

class SequenceExchange;

/// Entries in the order in which they were appended, and each lane's share.
struct Sequence {
  std::string name;
  std::vector<Entry> entries;
  int operators = 0; ///< among them
  std::vector<std::vector<int>> perLane;
  SequenceExchange *exchange = nullptr; ///< with other ranks
};

class CpuLane final : public Lane {
public:
  /// `deviceOf` finds the device of an address in any arena.
  CpuLane(int index, int device, int threads,
          std::function<int(const void *)> deviceOf)
      : index(index), device(device), threads(threads),
        deviceOf(std::move(deviceOf)) {}

  void layer(const char *name, const char *phase) override;

  /// Appends an operator. `op` and the closure's captures must live as long as
  /// the machine; `results` may hold absent tensors. `read` are the operands
  /// that may lie on other devices.
  void append(const char *op, const Tensors &results, std::function<void()> run,
              const Tensors &read = {});
  void append(Entry entry);

  /// Makes the workspace at least this large, from the end of the recording.
  void needWorkspace(int64_t bytes);
  char *workspace() const { return memory.data(); }
  /// Behind it nobody may write (Arena.h); aligned to pages.
  char *workspaceEnd() const { return memory.end(); }
  int64_t workspaceBytes() const { return memory.bytes(); }

  void beginRecording(Sequence &sequence);
  /// Without memory where another rank runs the lane.
  void endRecording(bool isLocal = true);

  const int index;
  const int device;
  const int threads;
  /// Bytes that this lane read on each other device.
  std::vector<int64_t> received;

private:
  std::function<int(const void *)> deviceOf;
  Sequence *recording = nullptr;
  std::string currentLayer, currentPhase;
  int64_t needed = 0;
  Arena memory;
};

/// Every lane of this backend is a CpuLane.
inline CpuLane &cpuLane(Lane &lane) { return static_cast<CpuLane &>(lane); }

/// Recorded or waited for by a lane's thread as it comes by.
class CpuEvent final : public Event, public RunCounter {
public:
  void record(Lane &lane) override;
  void wait(Lane &lane) override;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_LANE_H

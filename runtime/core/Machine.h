//===- Machine.h - Devices, lanes, events and sequences ---------*- C++ -*-===//
//
// What both backends implement (runtime/cpu, runtime/cuda) and what the
// trainer and the emitted program see. A Machine owns one arena per device and
// its lanes and events; a Lane is an in-order queue on a device (a thread, or a
// CUDA stream); an Event orders work across lanes.
//
// A step is recorded once and replayed: Machine::record runs the emitted
// function, whose operator calls append to lanes, and Machine::run replays what
// was appended. No memory is allocated while a sequence runs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_MACHINE_H
#define LWCC_RUNTIME_CORE_MACHINE_H

#include "runtime/core/Ranks.h"
#include "runtime/core/Tensor.h"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lwcc::rt {

using Clock = std::chrono::steady_clock;

struct DeviceSpec {
  int64_t arenaBytes = 0;
};

/// What a lane does. Lanes that copy exchange with other devices, beside
/// computation; what an urgent one does is short, and soon waited for.
enum class LaneUse { compute, copies, urgent };

struct LaneSpec {
  int device = 0;
  std::string name;
  LaneUse use = LaneUse::compute;
  /// Of a compute lane on the CPU: how many threads it has of those of all the
  /// device's compute lanes. A device with another number divides it in
  /// proportion.
  int threads = 1;
};

/// What moved from one device to another.
struct MovedBytes {
  int from = 0, to = 0;
  int64_t bytes = 0;
};

/// When one operator of a run was at work.
struct TracedCall {
  int lane = 0;
  /// As the operator's lane named them; they live as long as the machine.
  const char *layer = "", *phase = "", *op = "";
  int64_t begin = 0, end = 0; ///< nanoseconds on std::chrono::steady_clock
};

/// What a program needs; fixed at compile time.
struct MachineSpec {
  std::vector<DeviceSpec> devices;
  std::vector<LaneSpec> lanes;
  int events = 0;
  bool tf32 = false; ///< CUDA only: tensor cores may round inputs to TF32
};

/// What the person who starts the program may choose.
struct MachineOptions {
  int threads = 0;            ///< CPU threads over all lanes; 0: all cores
  bool yielding = false;      ///< CPU: of all cores only those that are free
  bool deterministic = false; ///< bitwise equal from run to run
  /// Which of the devices this process has, else all. Outlives the machine;
  /// `threads` are then those of all ranks.
  const Ranks *ranks = nullptr;
};

class Lane;

/// An event of the emitted program. Recorded on one lane and waited for on
/// others, once each per run of a sequence.
class Event {
public:
  virtual ~Event() = default;
  virtual void record(Lane &lane) = 0;
  virtual void wait(Lane &lane) = 0;
};

/// An in-order queue on one device. Operators are free functions (Ops.h); each
/// backend derives its own lane and knows how to append to it.
class Lane {
public:
  virtual ~Lane() = default;
  /// Names what follows, for profiles, traces and the search for the first
  /// non-finite value. `phase` is "forward", "backward", "weight" (the
  /// gradients of parameters) or "update".
  virtual void layer(const char *name, const char *phase) = 0;
};

/// A recorded sequence, owned by its machine.
struct Sequence;

class Machine {
public:
  /// Throws Error: no such device, too little memory (needed and available).
  static std::unique_ptr<Machine> create(const MachineSpec &spec,
                                         const MachineOptions &options);
  virtual ~Machine() = default;

  /// Null: this process runs all devices. Of those of other ranks it holds an
  /// image of what it reads there; rank 0 can read and write them.
  virtual const Ranks *ranks() const { return nullptr; }
  /// All ranks at the same place between their runs; rank 0 gets the answer.
  virtual RankLink measureRanks() { return {}; }
  bool isLocal(int device) const {
    return !ranks() || ranks()->isLocal(device);
  }
  /// Ends the run under way and skips all that follow; synchronize throws this.
  virtual void stop(std::exception_ptr) {}

  virtual Lane &lane(int index) = 0;
  virtual Event &event(int index) = 0;
  /// First byte of a device's arena, 256-byte aligned and zeroed.
  virtual char *arena(int device) = 0;

  /// Records what `body` appends to the lanes. `body` may be called twice
  /// (once to size workspaces) and must do the same both times.
  virtual Sequence *record(const char *name,
                           const std::function<void()> &body) = 0;
  /// Starts a run; returns at once. Runs follow each other in order.
  virtual void run(Sequence *sequence) = 0;
  /// Waits for all runs to end; throws Error if the device reports a fault.
  virtual void synchronize() = 0;

  /// One operator at a time, for debugging: calls `after` with the layer, the
  /// operator's name and its results when each has finished; `after` may call
  /// read.
  using Observer =
      std::function<void(const char *layer, const char *phase, const char *op,
                         const Tensor *results, int count)>;
  virtual void runObserved(Sequence *sequence, const Observer &after) = 0;

  /// A run that is timed, otherwise like run. When it is over, the result
  /// holds all operators in the order of appending; those of one lane do not
  /// overlap, and what a lane waited is not in them. The result lives as long
  /// as the machine. A backend may wait for the run.
  virtual const std::vector<TracedCall> &runTraced(Sequence *sequence) = 0;

  /// Copies a whole tensor between a device and dense row-major (logical) host
  /// memory, waiting for earlier runs and for the copy.
  virtual void read(Tensor source, int device, void *host) = 0;
  virtual void write(Tensor target, int device, const void *host) = 0;
  /// In order with runs and without waiting: the copy may arrive while the run
  /// before is at work. `host` is pinned memory from hostAlloc that holds the
  /// elements as `target` stores them, and stays valid until the next
  /// synchronize or the wait for a later ticket.
  virtual void writeAsync(Tensor target, int device, const void *host) = 0;
  /// Makes ready for many writeAsync to this tensor. Throws Error: too little
  /// memory.
  virtual void expectWrites([[maybe_unused]] Tensor target,
                            [[maybe_unused]] int device) {}
  /// The other way: in order with runs and without waiting, into memory from
  /// hostAlloc, the elements as `source` stores them. wait(ticket) returns when
  /// the copy and all that was started before it are done, and says when that
  /// was, as far as the backend knows (else, when it returned). Ticket 0: the
  /// backend has waited.
  virtual int64_t readAsync(Tensor source, int device, void *host) = 0;
  virtual Clock::time_point wait(int64_t ticket) = 0;
  virtual void *hostAlloc(int64_t bytes) = 0;

  /// What the transfers of all runs so far moved, after waiting for them; only
  /// pairs of devices between which something did.
  virtual std::vector<MovedBytes> movedBytes() = 0;

  /// "cpu" or "cuda", as in lwcc --target.
  virtual const char *target() const = 0;
  /// CPU threads of a lane; 0 where its operators run elsewhere.
  virtual int threads(int lane) const = 0;
  /// "2 CPU threads (oneDNN 3.2.0, AVX-512)", "NVIDIA H200 (sm_90)", ...
  virtual std::string describe() const = 0;
  /// Bytes held on a device: arena, workspaces and library state.
  virtual int64_t bytesHeld(int device) const = 0;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_MACHINE_H

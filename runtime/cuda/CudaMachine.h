//===- CudaMachine.h - Machines, lanes and events on CUDA -------*- C++ -*-===//
//
// A lane is a CUDA stream, an event a CUDA event, and a sequence one CUDA graph
// over all lanes of all devices. While a sequence is recorded, operators are
// appended as closures; from that one list come the size of the workspaces, the
// loading of the kernels, the graph (by stream capture), for traces the run
// without a graph, and, for debugging, the run of one operator at a time. So
// what is observed is what runs.
//
// Of a program that several ranks run (core/Ranks.h), all lanes are recorded,
// but only those of this rank's devices have streams, and the host starts their
// steps as what they read arrives (RankRuns.cpp). Then several threads may call
// a machine: one at a time is at work in it.
//
// Ops.h is implemented in terms of CudaLane: append() and launch().
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_CUDAMACHINE_H
#define LWCC_RUNTIME_CUDA_CUDAMACHINE_H

#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/HostImage.h"
#include "runtime/cuda/KernelAddress.h"
#include "runtime/cuda/Upload.h"
#include "runtime/exchange/RankExchange.h"

#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <type_traits>

#include <cuda_runtime_api.h>

namespace lwcc::rt::cuda {

class CudaMachine;

/// Device memory, freed with its owner.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  /// Zeroed, unless said otherwise. Throws Error with the bytes needed and
  /// available.
  DeviceBuffer(const Gpu &gpu, int64_t bytes, const char *what,
               bool zeroed = true);
  DeviceBuffer(DeviceBuffer &&other) noexcept { *this = std::move(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    std::swap(pointer, other.pointer);
    std::swap(size, other.size);
    return *this;
  }
  ~DeviceBuffer();
  char *data() const { return pointer; }
  int64_t bytes() const { return size; }

private:
  char *pointer = nullptr;
  int64_t size = 0;
};

/// What an operator does, and the workspace that it uses for it.
struct Work {
  std::function<void()> run;
  int64_t workspaceBytes = 0;
};

class CudaLane : public Lane {
public:
  /// `gpu` of another rank's lane is one of this rank's, on which operators may
  /// prepare themselves; it has no stream.
  CudaLane(CudaMachine &machine, Gpu &gpu, int index, const LaneSpec &spec);
  ~CudaLane() override;

  void layer(const char *name, const char *phase) override {
    currentLayer = name;
    currentPhase = phase;
  }

  /// Appends an operator. `run` is called once to load kernels and once for
  /// every capture or observed run, with this lane's device current; it may use
  /// `workspaceBytes` bytes at workspace(). `read` are the operands that may
  /// lie on other devices.
  void append(const char *op, Tensors results, std::function<void()> run,
              int64_t workspaceBytes = 0, Tensors read = {});

  /// Launches a kernel on the stream; grid and block are one-dimensional
  /// unless said otherwise. Only loads the kernel while kernels are loaded.
  void launch(const void *kernel, dim3 grid, dim3 block, void **arguments);
  /// The same with typed arguments.
  template <typename... P>
  void launch(void (*kernel)(P...), dim3 grid, dim3 block,
              std::type_identity_t<P>... arguments) {
    void *pointers[] = {&arguments...};
    launch(kernelAddress(kernel), grid, block, pointers);
  }
  /// Blocks for a grid-stride loop over `items` with `threads` in a block.
  unsigned blocksFor(int64_t items, int threads) const;
  /// Whether library calls should be made: false while kernels are loaded.
  bool isRunning() const { return !loading; }

  char *workspace() const {
    return hasOwn               ? own
           : workspaces.empty() ? nullptr
                                : workspaces.back().data();
  }

  CudaMachine &machine;
  Gpu &gpu;
  const int index;
  const int device; ///< logical
  const std::string name;
  cudaStream_t stream = nullptr;

private:
  friend class CudaMachine;
  const char *currentLayer = "";
  const char *currentPhase = "";
  bool loading = false;
  int64_t workspaceNeeded = 0;
  /// LWCC_OWN_WORKSPACES: that of the operator that is called; null if it asked
  /// for none.
  bool hasOwn = false;
  char *own = nullptr;
  /// The last is the largest; graphs recorded earlier keep using theirs.
  std::vector<DeviceBuffer> workspaces;
};

class CudaEvent : public Event {
public:
  explicit CudaEvent(int number) : number(number) {}
  ~CudaEvent() override;
  void record(Lane &lane) override;
  void wait(Lane &lane) override;

  const int number;

private:
  /// One per GPU that records it in some sequence, made there.
  std::map<Gpu *, cudaEvent_t> events;
  /// Of the sequence that is being recorded; null where another rank records
  /// it.
  cudaEvent_t current = nullptr;
};

} // namespace lwcc::rt::cuda

namespace lwcc::rt {

/// What was recorded, and the graph that it became.
struct Sequence {
  struct Step {
    cuda::CudaLane *lane;
    const char *layer, *phase;
    const char *op; ///< null: an event
    Tensors results;
    /// Absent: nothing is done on this rank's GPUs.
    std::function<void()> run;
    Tensors read; ///< operands that may lie on other devices
    int64_t workspaceBytes = 0;
    const cuda::CudaEvent *event = nullptr;
    bool isRecord = false; ///< of the event, else a wait for it
    char *ownWorkspace = nullptr;
  };
  std::string name;
  int64_t runs = 0; ///< that were started
  std::vector<Step> steps;
  cudaGraphExec_t graph = nullptr;
  std::vector<cuda::DeviceBuffer> ownWorkspaces;
  /// For traces: before and after each operator of this rank, by step, made by
  /// the first traced run.
  std::vector<std::pair<cudaEvent_t, cudaEvent_t>> timers;
  SequenceExchange *exchange = nullptr;  ///< with other ranks
  std::vector<std::vector<int>> perLane; ///< with other ranks: steps

  ~Sequence();
};

} // namespace lwcc::rt

namespace lwcc::rt::cuda {

class CudaMachine : public Machine {
public:
  CudaMachine(const MachineSpec &spec, const MachineOptions &options);
  ~CudaMachine() override;

  const Ranks *ranks() const override { return team; }
  RankLink measureRanks() override;
  void stop(std::exception_ptr exception) override;

  Lane &lane(int index) override { return *lanes.at(index); }
  Event &event(int index) override { return *events.at(index); }
  char *arena(int device) override {
    return isLocal(device) ? devices.at(device).arena.data()
                           : devices.at(device).image.data();
  }

  Sequence *record(const char *name,
                   const std::function<void()> &body) override;
  void run(Sequence *sequence) override;
  void synchronize() override;
  void runObserved(Sequence *sequence, const Observer &after) override;
  const std::vector<TracedCall> &runTraced(Sequence *sequence) override;

  void read(Tensor source, int device, void *host) override;
  void write(Tensor target, int device, const void *host) override;
  void writeAsync(Tensor target, int device, const void *host) override;
  void expectWrites(Tensor target, int device) override;
  int64_t readAsync(Tensor source, int device, void *host) override;
  Clock::time_point wait(int64_t ticket) override;
  void *hostAlloc(int64_t bytes) override;

  std::vector<MovedBytes> movedBytes() override;
  const char *target() const override { return "cuda"; }
  int threads(int) const override { return 0; }
  std::string describe() const override;
  int64_t bytesHeld(int device) const override;

  /// Adds to the sequence that is being recorded.
  void append(Sequence::Step step);
  bool usesTf32() const { return spec.tf32; }
  bool isDeterministic() const { return options.deterministic; }

private:
  /// What makes the calls of a step.
  using Starter = std::function<void(const Sequence::Step &)>;
  struct Device {
    Gpu *gpu = nullptr; ///< of another rank's, one of this rank's
    DeviceBuffer arena;
    HostImage image; ///< of another rank's
    /// Transfers; the first device's also launches the graphs, and everything
    /// the others do is ordered before and after what it does.
    cudaStream_t stream = nullptr;
    cudaEvent_t order = nullptr;
    /// What arrives during a run for the next.
    cudaStream_t uploads = nullptr;
    std::vector<DeviceBuffer> uploadBuffers;
    int64_t graphBytes = 0; ///< device memory that the graphs took
  };
  /// What of a lane goes to other ranks.
  struct Leaving {
    std::unique_ptr<CudaLane> lane;
    cudaEvent_t written = nullptr; ///< on the lane that it stands beside
  };
  /// A copy of another rank's device, which comes by rank 0's connection.
  struct RemoteRead {
    int64_t request = 0;
    void *host = nullptr;
  };
  void makeDevices();
  void makeLanes();
  /// Runs `transfer` on a device's stream in order with the runs.
  void inOrder(int device, const std::function<void(cudaStream_t)> &transfer);
  int deviceOf(const void *address) const;
  void enablePeerAccess();
  void loadKernels(Sequence &sequence);
  void capture(Sequence &sequence);
  /// To find what runs over its workspace: each operator has one of its own,
  /// exactly as large as it asked for, and uninitialised.
  void makeOwnWorkspaces(Sequence &sequence);
  /// What a step does, with its workspace.
  void call(const Sequence::Step &step) const;
  /// One step on its GPU; an error says which.
  void perform(const Sequence::Step &step);
  /// What `starts` does, on streams that leave the first device's and come back
  /// to it.
  void enqueue(const std::function<void()> &starts);
  void performAll(const Sequence &sequence);
  /// The first device of this rank: its stream orders what all do.
  Device &origin();
  void settle();
  void makeTimers(Sequence &sequence);

  // With other ranks (RankRuns.cpp). `lock` holds `calls`.
  std::vector<exchange::Step> stepsOf(const Sequence &sequence) const;
  void shareRecorded(Sequence &sequence);
  void runShared(Sequence &sequence, const Starter &start,
                 std::unique_lock<std::mutex> &lock);
  void dispatch(Sequence &sequence, uint64_t run, const Starter &start,
                std::unique_lock<std::mutex> &lock);
  CudaLane &laneOn(int device) const;
  void leaveBehind(Outgoing &out, uint64_t run, CudaLane &lane);
  void leave(Outgoing &out, uint64_t run, CudaLane &lane);
  void throwIfStopped();
  /// `flags` of cudaHostAlloc.
  void *allocatePinned(int64_t bytes, unsigned flags);
  /// Where a tensor lies in its device's arena, in bytes.
  int64_t offsetIn(int device, const Tensor &tensor);

  const MachineSpec spec;
  const MachineOptions options;
  const Ranks *team; ///< null: this process runs all devices
  GraphUse graphs = GraphUse::ifPossible; ///< never, once a capture has failed
  const bool synchronizesSteps;           ///< to see which one fails
  const bool separatesWorkspaces;
  // Freed in reverse order: graphs, lanes, arenas, then the devices' libraries.
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::vector<Device> devices;
  std::vector<std::unique_ptr<CudaLane>> lanes;
  std::vector<Leaving> leaving; ///< by lane; with other ranks
  std::vector<std::unique_ptr<CudaEvent>> events;
  std::deque<RunCounter> heard; ///< by event, of those that others record
  std::vector<std::unique_ptr<Sequence>> sequences;
  Sequence *recording = nullptr;
  std::vector<void *> pinned;
  /// By the target's address and bytes.
  std::map<std::pair<void *, int64_t>, Upload> uploads;
  std::deque<std::vector<TracedCall>>
      traces; ///< a deque: its items stay in place
  /// tickets[t % size] is recorded behind the transfer with ticket t + 1.
  std::vector<cudaEvent_t> tickets;
  int64_t lastTicket = 0;
  std::multimap<int64_t, RemoteRead> remoteReads; ///< by ticket

  /// Of CUDA, and all of the above: one thread of a process at a time.
  static inline std::mutex calls;
  uint64_t sharedRuns = 0;
  std::mutex failing;
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  std::unique_ptr<RankExchange> exchange; ///< whose threads use it
};

inline CudaLane &cudaLane(Lane &lane) { return static_cast<CudaLane &>(lane); }

/// Launches a copy between two views of the same shape on a lane.
void launchCopy(CudaLane &lane, const Tensor &to, const Tensor &from);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_CUDAMACHINE_H

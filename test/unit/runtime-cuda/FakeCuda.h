//===- FakeCuda.h - A simulation of CUDA's streams --------------*- C++ -*-===//
//
// Implements the functions of the CUDA runtime that CudaMachine and Upload
// call, on host memory. Work on streams waits in queues until a random
// scheduler runs it, piece by piece, in any order that waits allow. A missing
// wait therefore shows as a wrong value in some order. For tests that link
// neither CUDA's libraries nor runtime/cuda/Gpu.cpp.
//
// What CUDA refuses is refused here, as far as several devices and graphs are
// concerned: an event is recorded on a stream of its own device, work is
// launched on the current device, and captured work joins the stream that began
// the capture.
//
// Synchronous copies between host and device are made at once, whatever streams
// do, like CUDA's beside non-blocking streams.
//
// Stream, Event and Graph are what CUDA's handles point to here; rt::Event
// (runtime/core/Machine.h) is the runtime's.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMECUDA_FAKECUDA_H
#define LWCC_TEST_RUNTIMECUDA_FAKECUDA_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace lwcc::fake {

/// A CUDA event.
struct Event {
  int device = 0;
  int64_t recorded = 0; ///< times recorded, from the host's view
  struct Stream *recorder = nullptr;
  bool captured = false;
};
/// How often each event has been reached.
using Versions = std::map<const Event *, int64_t>;

struct Graph;
/// A piece of work in a queue.
struct Item {
  enum Kind { work, record, wait, graph };
  Kind kind = work;
  std::function<void()> run;   ///< work
  const bool *held = nullptr;  ///< work: must not run while this is true
  Event *event = nullptr;      ///< record, wait
  int64_t version = 0;         ///< record, wait
  std::shared_ptr<Graph> what; ///< graph
};
using Queue = std::deque<Item>;

/// A captured graph. A launch consumes a copy of it.
struct Graph {
  std::map<Stream *, Queue> queues;
  Stream *origin = nullptr;
  Versions passed;
};

/// A CUDA stream, and what waits in it.
struct Stream {
  int device = 0;
  int number = 0; ///< in the order of creation
  bool capturing = false;
  Queue queue;
  std::shared_ptr<Graph> running;
};

/// All GPUs of a test; only one World exists at a time.
class World {
public:
  explicit World(unsigned seed, int gpus = 1);
  ~World();

  /// Launches a kernel. It does not run while `held` is true.
  void launch(cudaStream_t stream, std::function<void()> work,
              const bool *held = nullptr);
  /// Runs one piece of work; false if none may run.
  bool step();
  /// Runs all that may run.
  void settle() {
    while (step()) {
    }
  }

  /// Pairs (stream that waits, stream that is waited for), by numbers: all
  /// waits that were made, and the one to leave out.
  using Pair = std::pair<int, int>;
  std::set<Pair> waits;
  Pair omitted = {-1, -1};
  bool omitsHostWaits = false;

  std::string fault;         ///< a violation that changes no value; "" if none
  int hostSleeps = 0;        ///< host calls that yield the processor
  int64_t bytesReceived = 0; ///< by asynchronous copies from the host

  // The rest is for the functions of CUDA.
  /// Lets the devices run a while, as during a call of the host.
  void elapse();
  void waitUntil(const std::function<bool()> &over);
  void push(Stream &stream, Item item);
  bool isOver(const Event &event) const;
  Stream &makeStream();
  Event &makeEvent();
  const int gpus;
  int current = 0; ///< device
  Versions passed;
  Stream *captureOrigin = nullptr;
  std::shared_ptr<Graph> capture;
  std::vector<std::shared_ptr<Graph>> graphs;
  std::deque<Stream> streams; ///< deques: elements keep their addresses
  std::deque<Event> events;

private:
  bool stepOf(Stream &stream);
  bool stepOf(Queue &queue, Versions &versions);

  std::mt19937 random;
  unsigned pace; ///< steps of the devices per call of the host
  unsigned slow; ///< number of a stream that seldom runs
};

extern World *world;

} // namespace lwcc::fake

#endif // LWCC_TEST_RUNTIMECUDA_FAKECUDA_H

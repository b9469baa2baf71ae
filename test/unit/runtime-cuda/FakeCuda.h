//===- FakeCuda.h - Streams, events and graphs without a GPU ----*- C++ -*-===//
//
// The calls of CUDA's runtime that the machine makes (CudaMachine, Upload), on
// host memory: what is put on streams waits in queues until a random scheduler
// runs it, one piece at a time, as slowly and in as strange an order as waits
// allow. So a wait that is missing shows as a wrong value in some order. For
// tests that link neither CUDA's libraries nor Gpu.cpp.
//
// What CUDA refuses is refused here where it matters to several devices and to
// graphs: an event is recorded on a stream of its own device, work is launched
// on the current device, and what is captured joins the stream that began.
//
// Copies between host and device that wait are made at once, whatever the
// streams are doing, as CUDA's are beside non-blocking streams.
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

struct Event {
  int device = 0;
  int64_t recorded = 0; ///< how often, as the host told it
  struct Stream *recorder = nullptr;
  bool captured = false;
};
/// How often each event was passed.
using Versions = std::map<const Event *, int64_t>;

struct Graph;
struct Item {
  enum Kind { work, record, wait, graph };
  Kind kind = work;
  std::function<void()> run;   ///< work
  const bool *held = nullptr;  ///< work: not while this is true
  Event *event = nullptr;      ///< record, wait
  int64_t version = 0;         ///< record, wait
  std::shared_ptr<Graph> what; ///< graph
};
using Queue = std::deque<Item>;

/// What was captured; a copy of it is used up by a launch.
struct Graph {
  std::map<Stream *, Queue> queues;
  Stream *origin = nullptr;
  Versions passed;
};

struct Stream {
  int device = 0;
  int number = 0; ///< in the order of making
  bool capturing = false;
  Queue queue;
  std::shared_ptr<Graph> running;
};

/// All GPUs of one test. One at a time.
class World {
public:
  explicit World(unsigned seed, int gpus = 1);
  ~World();

  /// A kernel.
  void launch(cudaStream_t stream, std::function<void()> work,
              const bool *held = nullptr);
  /// Runs one piece of work; false if there is none that may run.
  bool step();
  /// Runs what may run.
  void settle() {
    while (step()) {
    }
  }

  /// Waits between two streams, by the numbers of the one that waits and of the
  /// one that is waited for: those that there were, and which to leave out.
  using Pair = std::pair<int, int>;
  std::set<Pair> waits;
  Pair omitted = {-1, -1};
  bool omitsHostWaits = false;

  std::string fault;         ///< that is seen without a wrong value; "": none
  int hostSleeps = 0;        ///< calls that give up the processor
  int64_t bytesReceived = 0; ///< by asynchronous copies from the host

  // For the functions of CUDA.
  /// The devices go on while the host makes a call.
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
  std::deque<Stream> streams; ///< deques: items stay in place
  std::deque<Event> events;

private:
  bool stepOf(Stream &stream);
  bool stepOf(Queue &queue, Versions &versions);

  std::mt19937 random;
  unsigned pace; ///< steps of the devices for one of the host
  unsigned slow; ///< a stream that seldom goes on
};

extern World *world;

} // namespace lwcc::fake

#endif // LWCC_TEST_RUNTIMECUDA_FAKECUDA_H

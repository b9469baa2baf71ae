//===- World.h - Streams, events and graphs of emulated GPUs ----*- C++ -*-===//
//
// All GPUs of a process, or of one test. What is put on streams waits in queues
// until a random scheduler runs it, one piece at a time, as slowly and in as
// strange an order as waits allow; the nodes of a graph in any order that its
// edges allow. So a wait that is missing shows as a wrong value in some order,
// and, where the accesses are known, as a race in every order.
//
// Here is what the functions of CUDA's runtime share (Runtime*.cpp, which say
// what CUDA refuses), and what tests observe and leave out.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_WORLD_H
#define LWCC_TEST_CUDAEMULATION_WORLD_H

#include "Emulation.h"
#include "Memory.h"
#include "Order.h"
#include "Races.h"

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <random>

namespace lwcc::emulation {

struct Stream;
struct Capture;

/// What one call of cudaEventRecord stands for.
struct Record {
  bool isPassed = false;
  int64_t time = 0; ///< steps of the scheduler
  Clock clock;      ///< of the stream when it was passed
  Stream *stream = nullptr;
  std::shared_ptr<Capture> capture; ///< null: it is run, not captured
};

struct Event {
  int device = 0;
  bool isTimed = true;
  bool isDestroyed = false;
  std::shared_ptr<Record> last; ///< null: never recorded
};

struct GraphRun;
struct Graph;

struct Item {
  enum Kind { work, record, wait, graph };
  Kind kind = work;
  const char *name = "";
  int device = 0;
  std::function<void()> run;           ///< work
  std::vector<Access> accesses;        ///< work
  const bool *held = nullptr;          ///< work: not while this is true
  bool isCopy = false;                 ///< work: needs no peer access
  std::shared_ptr<Record> at;          ///< record, wait
  std::shared_ptr<Graph> what;         ///< graph
  std::shared_ptr<const Clock> caller; ///< what the host had waited for
};

/// What was captured on each stream, the first's being the origin; an edge that
/// leads to another stream is a record and a wait.
struct Graph {
  struct Lane {
    Stream *stream;
    size_t chain;
    std::vector<Item> items;
  };
  std::deque<Lane> lanes;
  bool isReady = false; ///< instantiated
};

/// Graphs under construction. A stream has reached, of each lane, so many
/// pieces of work: what it does next follows them.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Stream *origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::map<Stream *, Clock> reached;
  std::map<const Record *, Clock> records;
  bool isBroken = false;
};

/// One launch of a graph.
struct GraphRun {
  std::shared_ptr<Graph> graph;
  std::vector<size_t> next; ///< by lane
  std::vector<Clock> clocks;
  std::map<const Record *, Clock> passed;
};

struct Stream {
  int device = 0;
  int number = 0; ///< in the order of making
  size_t chain = 0;
  Clock clock;
  std::deque<Item> queue;
  std::optional<GraphRun> running;
  std::shared_ptr<Capture> capture;
  bool isDefault = false, isDestroyed = false;
};

class World {
public:
  World(uint32_t seed, int gpus, bool isOfProcess = false);
  World(const World &) = delete;
  ~World();

  // For tests.
  /// A kernel whose accesses are not known.
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
  int hostSleeps = 0;        ///< calls that give up the processor
  int64_t bytesReceived = 0; ///< by asynchronous copies from the host

  // For the functions of CUDA.
  /// The devices go on while the host makes a call.
  void elapse();
  /// Runs the devices until something is over. An error where it will never be,
  /// or where there are findings.
  cudaError_t waitUntil(const std::function<bool()> &over);
  /// Appends to a stream or to what it captures.
  cudaError_t push(Stream &stream, Item item);
  /// Of a call that may make the device wait or change its memory: an error
  /// where the capture that is under way forbids it, which breaks the capture.
  cudaError_t unsafe();
  /// The host has waited for what this clock tells of.
  void learn(const Clock &clock);
  Stream &makeStream(int device, bool isDefault);
  Stream &streamOf(cudaStream_t stream);
  /// Remembers an error for cudaGetLastError.
  cudaError_t answer(cudaError_t status);

  const uint32_t seed;
  const int gpus;
  const bool isOfProcess; ///< findings are printed, and fail the process
  static inline thread_local int current = 0; ///< device
  int64_t time = 0;
  cudaError_t lastError = cudaSuccess;
  std::mt19937 random;
  Memory memory;
  Races races{Memory::reach};
  std::deque<Stream> streams; ///< deques: items stay in place
  std::deque<Event> events;
  std::list<std::shared_ptr<Graph>> graphs;
  std::shared_ptr<Capture> capture; ///< under way
  /// Kernels whose code is on a device.
  std::set<std::pair<int, const void *>> loadedKernels;
  std::vector<std::string> findings;
  /// Work, and the place in its code, of which something was found.
  std::set<std::pair<uint32_t, const void *>> reported;

private:
  bool stepOf(Stream &stream);
  bool stepOf(GraphRun &run);
  void begin(const Item &item, size_t chain, Clock &clock);
  void perform(const Item &item, size_t chain, Clock &clock);

  std::vector<uint32_t> counts{0}; ///< by chain; the first is the host
  std::shared_ptr<const Clock> host = std::make_shared<Clock>();
  unsigned pace; ///< steps of the devices for one of the host
  unsigned slow; ///< a stream that seldom goes on

public:
  size_t makeChain() {
    counts.push_back(0);
    return counts.size() - 1;
  }
};

/// The test's, or else the one that the environment describes.
World &world();
inline Stream &streamOf(cudaStream_t stream) {
  return world().streamOf(stream);
}
inline Event &eventOf(cudaEvent_t event) {
  return *reinterpret_cast<Event *>(event);
}

/// Whether an access of what runs now is allowed; reports why not.
bool access(const void *address, size_t bytes, bool writes, bool atomic);

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_WORLD_H

//===- Machine.cpp - The CPU backend's machine ------------------*- C++ -*-===//
//
// A device is an arena, a lane is a thread. What the trainer starts (runs of a
// sequence, copies) is numbered and queued; every lane goes through the queue
// and does its share of each item, and no lane starts an item before all lanes
// have finished the one before. Waiting is on condition variables, never by
// spinning, since the cores belong to the lanes that have work.
//
// A failing operator ends the run in all lanes: the events of that run are
// released, the items that follow are skipped, and synchronize throws.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Machine.h"
#include "runtime/core/Error.h"
#include "runtime/cpu/Copy.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Onednn.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <latch>
#include <map>
#include <pthread.h>
#include <thread>

namespace lwcc::rt {

namespace {

class CpuMachine final : public Machine {
public:
  CpuMachine(const MachineSpec &spec, const MachineOptions &options);
  ~CpuMachine() override;

  Lane &lane(int index) override { return *lanes.at(index); }
  Event &event(int index) override { return *events.at(index); }
  char *arena(int device) override { return arenas.at(device).data(); }

  Sequence *record(const char *name,
                   const std::function<void()> &body) override;
  void run(Sequence *sequence) override;
  void synchronize() override;
  void runObserved(Sequence *sequence, const Observer &after) override;
  const std::vector<Span> &runTraced(Sequence *sequence) override;

  void read(Tensor source, int device, void *host) override;
  void write(Tensor target, int device, const void *host) override;
  void writeAsync(Tensor target, int device, const void *host) override;
  int64_t readAsync(Tensor source, int device, void *host) override;
  Clock::time_point wait(int64_t ticket) override;
  void *hostAlloc(int64_t bytes) override;

  std::vector<Traffic> traffic() override;
  const char *target() const override { return "cpu"; }
  int threads(int lane) const override { return lanes.at(lane)->threads; }
  std::string describe() const override;
  int64_t bytesHeld(int device) const override;

private:
  /// A run of a sequence, or something that one lane does alone.
  struct Item {
    Sequence *sequence = nullptr;
    std::vector<Span> *spans = nullptr; ///< of a traced run
    std::function<void()> action;
    int actionLane = 0;
    bool isRead = false;
  };

  void startLanes(const MachineSpec &spec);
  void stopLanes();
  uint64_t post(Item item);
  void laneMain(CpuLane &lane);
  void perform(const Item &item, CpuLane &lane, uint64_t number);
  void fail(uint64_t number, std::exception_ptr exception);
  void waitFor(std::unique_lock<std::mutex> &lock, uint64_t number);
  CpuLane &laneOn(int device);
  /// Copies in the device's lane; the ticket.
  int64_t postCopy(int device, Tensor to, Tensor from, bool isRead);
  int deviceOf(const void *address) const;

  std::vector<Arena> arenas;
  std::vector<std::unique_ptr<CpuLane>> lanes;
  std::vector<std::unique_ptr<CpuEvent>> events;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Arena> hostMemory;
  std::deque<std::vector<Span>> traces; ///< a deque: its items stay in place
  int allThreads = 1;                   ///< over all lanes
  int mostThreads = 1;                  ///< if no core were busy

  std::mutex mutex;
  std::condition_variable changed; ///< posted, completed or stopping
  std::deque<Item> queue;          ///< items completed + 1 ... posted
  uint64_t posted = 0, completed = 0;
  size_t lanesDone = 0; ///< with item completed + 1
  /// When reads were over, by ticket, until that or a later one is waited for.
  std::map<uint64_t, Clock::time_point> readAt;
  bool stopping = false;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;

  std::atomic<int> missingThreads = 0; ///< of the lanes' teams
  std::latch started;                  ///< lanes whose team stands

  std::vector<std::thread> workers; ///< last: they use all of the above
};

/// The same exception, saying which operator it comes from.
std::exception_ptr inContext(const Entry &entry, std::exception_ptr cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception &e) {
    return std::make_exception_ptr(Error(entry.layer + " (" + entry.phase +
                                         "), " + entry.op + ": " + e.what()));
  } catch (...) {
    return cause;
  }
}

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
      .count();
}

/// In the lane's own thread, between its other operators as in every run.
void runTimed(const Entry &entry, Span &span) {
  span = {entry.lane->index, entry.layer.c_str(), entry.phase.c_str(),
          entry.op};
  span.begin = now();
  entry.run();
  span.end = now();
}

} // namespace

/// The threads of a lane: cores are divided among the devices, and a device's
/// among the lanes that compute. The lane that exchanges with other devices
/// has as many as one of those: what it does is bound by memory.
static int threadsOf(const MachineSpec &spec, int lane, int threads) {
  auto share = [](int whole, int parts, int index) {
    return std::max(whole / parts + (index < whole % parts ? 1 : 0), 1);
  };
  int device = spec.lanes[lane].device, lanes = 0, index = 0;
  for (int i = 0; i < static_cast<int>(spec.lanes.size()); ++i)
    if (spec.lanes[i].device == device && !spec.lanes[i].copies) {
      index += i < lane;
      ++lanes;
    }
  int devices = static_cast<int>(spec.devices.size());
  if (spec.lanes[lane].copies)
    index = 0;
  return share(share(threads, devices, device), std::max(lanes, 1), index);
}

CpuMachine::CpuMachine(const MachineSpec &spec, const MachineOptions &options)
    : started(static_cast<ptrdiff_t>(spec.lanes.size())) {
  assert(!spec.lanes.empty() && "a machine without lanes can run nothing");
  int64_t needed = 0, available = availableMemory();
  for (const DeviceSpec &device : spec.devices)
    needed += device.arenaBytes;
  if (needed > available)
    throw Error("too little memory: the program needs " + formatBytes(needed) +
                ", available are " + formatBytes(available));
  for (const DeviceSpec &device : spec.devices)
    arenas.emplace_back(device.arenaBytes);

  allThreads = mostThreads = threadCount(options.threads);
  // Whoever names a number means it.
  if (options.yielding && options.threads == 0 &&
      !std::getenv("OMP_NUM_THREADS"))
    allThreads = threadsWithCore(mostThreads);
  int count = static_cast<int>(spec.lanes.size());
  for (int i = 0; i < count; ++i) {
    lanes.push_back(std::make_unique<CpuLane>(
        i, spec.lanes[i].device, threadsOf(spec, i, allThreads),
        [this](const void *address) { return deviceOf(address); }));
    lanes.back()->received.resize(spec.devices.size());
  }
  for (int i = 0; i < spec.events; ++i)
    events.push_back(std::make_unique<CpuEvent>());
  startLanes(spec);
}

void CpuMachine::startLanes(const MachineSpec &spec) {
  int count = static_cast<int>(lanes.size()), threads = 0;
  for (auto &lane : lanes)
    threads += lane->threads;
  checkThreadsStart(threads);
  try {
    for (int i = 0; i < count; ++i) {
      workers.emplace_back([this, i] { laneMain(*lanes[i]); });
      // For debuggers and profilers; the system keeps 15 characters.
      std::string name = spec.lanes[i].name;
      pthread_setname_np(workers.back().native_handle(),
                         name.substr(0, 15).c_str());
    }
  } catch (const std::system_error &e) {
    stopLanes();
    refuseThread(threads, e);
  }
  started.wait();
  if (missingThreads > 0) {
    stopLanes();
    throw Error("OpenMP starts " + std::to_string(threads - missingThreads) +
                " of " + std::to_string(threads) +
                " threads; take fewer --threads, or unset OMP_THREAD_LIMIT and "
                "OMP_MAX_ACTIVE_LEVELS");
  }
}

void CpuMachine::stopLanes() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
}

CpuMachine::~CpuMachine() {
  {
    std::unique_lock lock(mutex);
    waitFor(lock, posted);
  }
  stopLanes();
}

//===----------------------------------------------------------------------===//
// Recording and running
//===----------------------------------------------------------------------===//

Sequence *CpuMachine::record(const char *name,
                             const std::function<void()> &body) {
  synchronize(); // lanes may get a larger workspace
  auto sequence = std::make_unique<Sequence>();
  sequence->name = name;
  sequence->perLane.resize(lanes.size());
  for (auto &lane : lanes)
    lane->beginRecording(*sequence);
  try {
    body();
  } catch (const dnnl::error &e) {
    throw Error(std::string("cannot prepare ") + name +
                ": oneDNN: " + e.what());
  }
  for (auto &lane : lanes)
    lane->endRecording();

#ifndef NDEBUG
  // In appended order every event is recorded before it is waited for, so that
  // neither a run nor runObserved can wait for ever.
  std::vector<const CpuEvent *> recorded;
  for (const Entry &entry : sequence->entries) {
    bool known = std::find(recorded.begin(), recorded.end(), entry.event) !=
                 recorded.end();
    assert((entry.kind != Entry::record || !known) &&
           "event recorded twice in a sequence");
    assert((entry.kind != Entry::wait || known) &&
           "event waited for before it is recorded");
    if (entry.kind == Entry::record)
      recorded.push_back(entry.event);
  }
#endif
  sequences.push_back(std::move(sequence));
  return sequences.back().get();
}

uint64_t CpuMachine::post(Item item) {
  uint64_t number;
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(item));
    number = ++posted;
  }
  changed.notify_all();
  return number;
}

void CpuMachine::run(Sequence *sequence) {
  Item item;
  item.sequence = sequence;
  post(std::move(item));
}

const std::vector<Span> &CpuMachine::runTraced(Sequence *sequence) {
  Item item;
  item.sequence = sequence;
  item.spans = &traces.emplace_back(sequence->operators);
  std::vector<Span> &spans = *item.spans;
  post(std::move(item));
  return spans;
}

void CpuMachine::laneMain(CpuLane &lane) {
  missingThreads += lane.threads - startTeam(lane.threads);
  started.count_down();
  for (uint64_t number = 1;; ++number) {
    const Item *item;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] {
        return stopping || (posted >= number && completed + 1 == number);
      });
      if (posted < number)
        return;
      item = &queue.front();
    }
    perform(*item, lane, number);
    {
      std::lock_guard lock(mutex);
      if (++lanesDone < lanes.size())
        continue;
      lanesDone = 0;
      completed = number;
      if (queue.front().isRead)
        readAt[number] = Clock::now();
      queue.pop_front();
    }
    changed.notify_all();
  }
}

void CpuMachine::perform(const Item &item, CpuLane &lane, uint64_t number) {
  if (failed)
    return;
  const Entry *current = nullptr;
  try {
    if (!item.sequence) {
      if (item.actionLane == lane.index)
        item.action();
      return;
    }
    for (int index : item.sequence->perLane[lane.index]) {
      const Entry &entry = item.sequence->entries[index];
      switch (entry.kind) {
      case Entry::work:
        current = &entry;
        if (item.spans)
          runTimed(entry, (*item.spans)[entry.number]);
        else
          entry.run();
        for (const Traffic &read : entry.received)
          lane.received[read.from] += read.bytes;
        break;
      case Entry::record:
        entry.event->signal(number);
        break;
      case Entry::wait:
        entry.event->await(number);
        break;
      }
      if (failed)
        return;
    }
  } catch (...) {
    fail(number, current ? inContext(*current, std::current_exception())
                         : std::current_exception());
  }
}

void CpuMachine::fail(uint64_t number, std::exception_ptr exception) {
  {
    std::lock_guard lock(mutex);
    if (!failure)
      failure = exception;
    failed = true;
  }
  for (auto &event : events)
    event->signal(number); // whoever waits sees `failed`
}

void CpuMachine::waitFor(std::unique_lock<std::mutex> &lock, uint64_t number) {
  changed.wait(lock, [&] { return completed >= number; });
}

void CpuMachine::synchronize() {
  std::unique_lock lock(mutex);
  waitFor(lock, posted);
  if (failed) {
    std::exception_ptr exception = std::exchange(failure, nullptr);
    failed = false;
    std::rethrow_exception(exception);
  }
}

void CpuMachine::runObserved(Sequence *sequence, const Observer &after) {
  synchronize();
  for (const Entry &entry : sequence->entries) {
    if (entry.kind != Entry::work)
      continue;
    {
      ThreadScope scope(entry.lane->threads);
      try {
        entry.run();
      } catch (...) {
        std::rethrow_exception(inContext(entry, std::current_exception()));
      }
    }
    after(entry.layer.c_str(), entry.phase.c_str(), entry.op,
          entry.results.data(), static_cast<int>(entry.results.size()));
  }
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

/// `tensor` with the row-major layout that host memory has.
static Tensor rowMajor(const Tensor &tensor, void *host) {
  return Tensor(host, tensor.type, tensor.dim.data(), tensor.rank,
                Layout::dense);
}

CpuLane &CpuMachine::laneOn(int device) {
  for (auto &lane : lanes)
    if (lane->device == device)
      return *lane;
  return *lanes.front();
}

// Copies run in the device's lane, also those that the caller waits for: OpenMP
// threads of the caller's own would count against the cores when libgomp
// decides how long the lanes' threads wait before they sleep, and the many
// short parallel loops of a step would pay for waking them.

int64_t CpuMachine::postCopy(int device, Tensor to, Tensor from, bool isRead) {
  CpuLane &lane = laneOn(device);
  Item item;
  item.actionLane = lane.index;
  item.isRead = isRead;
  item.action = [&lane, to, from] { copyTensor(lane.threads, to, from); };
  return static_cast<int64_t>(post(std::move(item)));
}

void CpuMachine::read(Tensor source, int device, void *host) {
  wait(postCopy(device, rowMajor(source, host), source, true));
}

void CpuMachine::write(Tensor target, int device, const void *host) {
  postCopy(device, target, rowMajor(target, const_cast<void *>(host)), false);
  synchronize();
}

void CpuMachine::writeAsync(Tensor target, int device, const void *host) {
  Tensor source = target;
  source.data = const_cast<void *>(host);
  postCopy(device, target, source, false);
}

int64_t CpuMachine::readAsync(Tensor source, int device, void *host) {
  Tensor target = source;
  target.data = host;
  return postCopy(device, target, source, true);
}

// Says when the lane had read, not when this thread woke up: the lanes' threads
// may keep the cores from it.
Clock::time_point CpuMachine::wait(int64_t ticket) {
  Clock::time_point when;
  {
    auto number = static_cast<uint64_t>(ticket);
    std::unique_lock lock(mutex);
    waitFor(lock, number);
    auto read = readAt.find(number);
    when = read != readAt.end() ? read->second : Clock::now();
    readAt.erase(readAt.begin(), readAt.upper_bound(number));
  }
  if (failed) // what was read is not what the run would have written
    synchronize();
  return when;
}

void *CpuMachine::hostAlloc(int64_t bytes) {
  hostMemory.emplace_back(bytes);
  return hostMemory.back().data();
}

int CpuMachine::deviceOf(const void *address) const {
  auto at = static_cast<const char *>(address);
  for (size_t d = 0; d < arenas.size(); ++d)
    if (at >= arenas[d].data() && at < arenas[d].data() + arenas[d].bytes())
      return static_cast<int>(d);
  assert(false && "a tensor lies in no device's arena");
  return 0;
}

std::vector<Traffic> CpuMachine::traffic() {
  synchronize();
  int devices = static_cast<int>(arenas.size());
  std::vector<int64_t> bytes(devices * devices);
  for (auto &lane : lanes)
    for (int from = 0; from < devices; ++from)
      bytes[from * devices + lane->device] += lane->received[from];
  std::vector<Traffic> moved;
  for (int pair = 0; pair < devices * devices; ++pair)
    if (bytes[pair] > 0)
      moved.push_back({pair / devices, pair % devices, bytes[pair]});
  return moved;
}

std::string CpuMachine::describe() const {
  std::string text = std::to_string(allThreads) +
                     (allThreads == 1 ? " CPU thread" : " CPU threads");
  if (allThreads > omp_get_num_procs())
    text += " on " + std::to_string(omp_get_num_procs()) +
            (omp_get_num_procs() == 1 ? " core" : " cores");
  if (allThreads < mostThreads)
    text += ", as other work keeps " +
            std::to_string(mostThreads - allThreads) + " of " +
            std::to_string(mostThreads) + " cores busy";
  if (lanes.size() > 1)
    text += " in " + std::to_string(lanes.size()) + " lanes";
  return text + " (" + describeOnednn() + ")";
}

int64_t CpuMachine::bytesHeld(int device) const {
  int64_t bytes = arenas.at(device).bytes();
  for (auto &lane : lanes)
    if (lane->device == device)
      bytes += lane->workspaceBytes();
  return bytes;
}

std::unique_ptr<Machine> Machine::create(const MachineSpec &spec,
                                         const MachineOptions &options) {
  return std::make_unique<CpuMachine>(spec, options);
}

} // namespace lwcc::rt

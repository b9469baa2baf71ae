//===- FakeCuda.cpp - Streams, events and graphs without a GPU ------------===//

#include "FakeCuda.h"

#include "runtime/cuda/Gpu.h"

#include <cstdlib>
#include <cstring>

using namespace lwcc::fake;

World *lwcc::fake::world = nullptr;

World::World(unsigned seed, int gpus) : gpus(gpus), random(seed) {
  pace = random() % 4 * 6;
  slow = random() % 12;
  world = this;
}

World::~World() { world = nullptr; }

static Stream &streamOf(cudaStream_t stream) {
  return *reinterpret_cast<Stream *>(stream);
}
static Event &eventOf(cudaEvent_t event) {
  return *reinterpret_cast<Event *>(event);
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

bool World::stepOf(Queue &queue, Versions &versions) {
  Item &item = queue.front();
  if (item.kind == Item::work && item.held && *item.held)
    return false;
  if (item.kind == Item::wait && versions[item.event] < item.version)
    return false;
  Item taken = std::move(item);
  queue.pop_front();
  if (taken.kind == Item::work)
    taken.run();
  else if (taken.kind == Item::record)
    versions[taken.event] = taken.version;
  return true;
}

bool World::stepOf(Stream &stream) {
  if (!stream.running) {
    if (stream.queue.empty())
      return false;
    if (stream.queue.front().kind != Item::graph)
      return stepOf(stream.queue, passed);
    stream.running = std::make_shared<Graph>(*stream.queue.front().what);
  }
  Graph &graph = *stream.running;
  std::vector<Queue *> open;
  for (auto &[captured, queue] : graph.queues)
    if (!queue.empty())
      open.push_back(&queue);
  if (open.empty()) {
    stream.running.reset();
    stream.queue.pop_front();
    return true;
  }
  if (graph.queues[graph.origin].empty())
    fault = "captured work does not join its origin";
  size_t first = random() % open.size();
  for (size_t i = 0; i < open.size(); ++i)
    if (stepOf(*open[(first + i) % open.size()], graph.passed))
      return true;
  return false;
}

bool World::step() {
  size_t count = streams.size();
  if (count == 0)
    return false;
  // What is held up at times: one stream, for long.
  bool patient = random() % 16 != 0;
  size_t first = random() % count;
  for (size_t i = 0; i < count; ++i) {
    size_t at = (first + i) % count;
    if ((!patient || at != slow) && stepOf(streams[at]))
      return true;
  }
  return patient && slow < count && stepOf(streams[slow]);
}

void World::elapse() {
  for (unsigned n = pace ? random() % pace : 0; n > 0 && step(); --n) {
  }
}

void World::waitUntil(const std::function<bool()> &over) {
  while (!omitsHostWaits && !over())
    if (!step()) {
      fault = "the host would wait for ever";
      return;
    }
}

void World::push(Stream &stream, Item item) {
  if (stream.capturing)
    capture->queues[&stream].push_back(std::move(item));
  else
    stream.queue.push_back(std::move(item));
}

void World::launch(cudaStream_t stream, std::function<void()> work,
                   const bool *held) {
  if (streamOf(stream).device != current)
    fault = "work for another device than the current one";
  Item item;
  item.run = std::move(work);
  item.held = held;
  push(streamOf(stream), std::move(item));
}

bool World::isOver(const Event &event) const {
  auto at = passed.find(&event);
  return event.recorded == 0 ||
         (at != passed.end() && at->second >= event.recorded);
}

Stream &World::makeStream() {
  Stream &stream = streams.emplace_back();
  stream.device = current;
  stream.number = static_cast<int>(streams.size()) - 1;
  return stream;
}

Event &World::makeEvent() {
  Event &event = events.emplace_back();
  event.device = current;
  return event;
}

//===----------------------------------------------------------------------===//
// CUDA's runtime
//===----------------------------------------------------------------------===//

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  world->elapse();
  Item item;
  item.run = [=] {
    std::memcpy(to, from, bytes);
    if (kind == cudaMemcpyHostToDevice)
      world->bytesReceived += static_cast<int64_t>(bytes);
  };
  world->push(streamOf(stream), std::move(item));
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() {
  ++world->hostSleeps;
  world->waitUntil([] {
    for (const Stream &stream : world->streams)
      if (stream.device == world->current && !stream.queue.empty())
        return false;
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  *stream = reinterpret_cast<cudaStream_t>(&world->makeStream());
  return flags == cudaStreamNonBlocking ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++world->hostSleeps;
  world->waitUntil([=] { return streamOf(stream).queue.empty(); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(&world->makeEvent());
  return cudaSuccess;
}
// Events may be destroyed before they are passed.
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t at, cudaStream_t on) {
  world->elapse();
  Event &event = eventOf(at);
  Stream &stream = streamOf(on);
  if (event.device != stream.device)
    return cudaErrorInvalidResourceHandle;
  event.recorder = &stream;
  event.captured = stream.capturing;
  Item item;
  item.kind = Item::record;
  item.event = &event;
  item.version = ++event.recorded;
  world->push(stream, std::move(item));
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t at, unsigned) {
  world->elapse();
  Event &event = eventOf(at);
  Stream &stream = streamOf(on);
  if (event.recorded == 0)
    return cudaSuccess; // nothing to wait for
  World::Pair pair = {stream.number, event.recorder->number};
  world->waits.insert(pair);
  if (pair == world->omitted)
    return cudaSuccess;
  if (event.captured != bool(world->capture))
    return cudaErrorStreamCaptureIsolation;
  if (event.captured)
    stream.capturing = true;
  Item item;
  item.kind = Item::wait;
  item.event = &event;
  item.version = event.recorded;
  world->push(stream, std::move(item));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  world->elapse();
  return world->omitsHostWaits || world->isOver(eventOf(event))
             ? cudaSuccess
             : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++world->hostSleeps;
  world->waitUntil([=] { return world->isOver(eventOf(event)); });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from,
                                 cudaEvent_t to) {
  *milliseconds = 0;
  return world->isOver(eventOf(from)) && world->isOver(eventOf(to))
             ? cudaSuccess
             : cudaErrorNotReady;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t origin, cudaStreamCaptureMode) {
  world->capture = std::make_shared<Graph>();
  world->capture->origin = &streamOf(origin);
  streamOf(origin).capturing = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
  for (Stream &stream : world->streams)
    stream.capturing = false;
  world->graphs.push_back(std::exchange(world->capture, nullptr));
  *graph = reinterpret_cast<cudaGraph_t>(&world->graphs.back());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *run, cudaGraph_t graph,
                                 unsigned long long) {
  *run = reinterpret_cast<cudaGraphExec_t>(
      reinterpret_cast<std::shared_ptr<Graph> *>(graph)->get());
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t stream) {
  world->elapse();
  Item item;
  item.kind = Item::graph;
  for (const auto &graph : world->graphs)
    if (graph.get() == reinterpret_cast<Graph *>(run))
      item.what = graph;
  world->push(streamOf(stream), std::move(item));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *) {
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t,
                             cudaStream_t) {
  return cudaErrorNotSupported; // World::launch instead
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

namespace lwcc::rt::cuda {

struct Gpu::Plans {};
Gpu::Gpu(int id) : id(id), name("no GPU"), arch(90) {}
Gpu::~Gpu() = default;
void Gpu::use() const { world->current = id; }
int64_t Gpu::bytesFree() const { return int64_t(1) << 40; }

int countGpus() { return world->gpus; }
/// In turn, so that tests have devices that share one.
std::vector<int> physicalDevices(const char *, int logical, int present) {
  std::vector<int> devices;
  for (int d = 0; d < logical; ++d)
    devices.push_back(d % present);
  return devices;
}
GraphUse graphUse(const char *text) {
  return text && *text == '1' ? GraphUse::always : GraphUse::never;
}
bool isSet(const char *, const char *) { return false; }
std::string explain(cudaError_t status, const std::string &what) {
  return what + ": error " + std::to_string(status);
}
std::string bytesText(int64_t bytes) { return std::to_string(bytes); }

} // namespace lwcc::rt::cuda

//===- World.cpp - The scheduler of streams and graphs --------------------===//

#include "World.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

using namespace lwcc;
using namespace lwcc::emulation;

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

static World *ofTest = nullptr;

static uint32_t numberOf(const char *variable, uint32_t otherwise) {
  const char *text = std::getenv(variable);
  return text && *text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10))
                       : otherwise;
}

World &emulation::world() {
  if (ofTest)
    return *ofTest;
  // Never destroyed: what ends last may still free device memory.
  static World &ofProcess =
      *new World(numberOf("LWCC_EMULATION_SEED", 1),
                 static_cast<int>(std::min(numberOf("LWCC_EMULATED_GPUS", 1),
                                           uint32_t(Memory::maxDevices))),
                 /*isOfProcess=*/true);
  return ofProcess;
}

/// The last word of a process: one with findings has failed.
static void end() {
  std::fflush(nullptr);
  if (!emulation::faults().empty())
    _exit(66);
}

World::World(uint32_t seed, int gpus, bool isOfProcess)
    : seed(seed), gpus(gpus), isOfProcess(isOfProcess), random(seed) {
  current = 0;
  pace = random() % 4 * 6;
  slow = random() % 12;
  ops.assign(1, Op());
  if (isOfProcess)
    std::atexit(end);
  else
    ofTest = this;
  for (int device = 0; device < gpus; ++device)
    makeStream(device, /*isDefault=*/true);
}

World::~World() { ofTest = nullptr; }

Stream &World::makeStream(int device, bool isDefault) {
  Stream &stream = streams.emplace_back();
  stream.device = device;
  stream.number = static_cast<int>(streams.size()) - 1;
  stream.chain = makeChain();
  stream.isDefault = isDefault;
  return stream;
}

Stream &World::streamOf(cudaStream_t stream) {
  return stream ? *reinterpret_cast<Stream *>(stream)
                : streams[static_cast<size_t>(current)];
}

cudaError_t World::answer(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady)
    lastError = status;
  return status;
}

//===----------------------------------------------------------------------===//
// Appending
//===----------------------------------------------------------------------===//

cudaError_t World::push(Stream &stream, Item item) {
  if (!stream.capture) {
    item.caller = host;
    stream.queue.push_back(std::move(item));
    return cudaSuccess;
  }
  Capture &capture = *stream.capture;
  if (capture.isBroken)
    return cudaErrorStreamCaptureInvalidated;
  Graph &graph = *capture.graph;
  size_t lane = 0;
  while (lane < graph.lanes.size() && graph.lanes[lane].stream != &stream)
    ++lane;
  if (lane == graph.lanes.size())
    graph.lanes.push_back({&stream, makeChain(), {}});
  Clock &reached = capture.reached[&stream];
  if (item.kind == Item::record)
    capture.records[item.at.get()] = reached;
  else if (item.kind == Item::wait)
    reached.join(capture.records[item.at.get()]);
  else
    reached.set(lane, reached.at(lane) + 1);
  graph.lanes[lane].items.push_back(std::move(item));
  return cudaSuccess;
}

void World::launch(cudaStream_t on, std::function<void()> work,
                   const bool *held) {
  Stream &stream = streamOf(on);
  if (stream.device != current)
    fault("a kernel is launched for another device than the current one");
  Item item;
  item.name = "a kernel of the test";
  item.device = stream.device;
  item.run = std::move(work);
  item.held = held;
  push(stream, std::move(item));
}

cudaError_t emulation::enqueue(cudaStream_t on, const char *name,
                               std::vector<Access> accesses,
                               std::function<void()> run) {
  World &w = world();
  w.elapse();
  Stream &stream = w.streamOf(on);
  if (stream.device != w.current)
    return w.answer(cudaErrorInvalidResourceHandle);
  Item item;
  item.name = name;
  item.device = stream.device;
  item.run = std::move(run);
  item.accesses = std::move(accesses);
  return w.answer(w.push(stream, std::move(item)));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void World::begin(const Item &item, size_t chain, Clock &clock) {
  clock.set(chain, ++counts[chain]);
  ops.push_back({item.name, chain, counts[chain]});
  now = {};
  now.op = static_cast<uint32_t>(ops.size() - 1);
  now.device = item.device;
  now.isCopy = item.isCopy;
  now.clock = &clock;
}

void World::perform(const Item &item, size_t chain, Clock &clock) {
  begin(item, chain, clock);
  bool allowed = true;
  for (bool writes : {false, true})
    for (const Access &a : item.accesses)
      if (a.writes == writes && a.bytes)
        allowed &= access(a.address, a.bytes, writes, /*atomic=*/false);
  if (allowed && item.run)
    item.run();
  now = {};
}

bool World::stepOf(GraphRun &run) {
  std::vector<size_t> open;
  for (size_t lane = 0; lane < run.next.size(); ++lane)
    if (run.next[lane] < run.graph->lanes[lane].items.size())
      open.push_back(lane);
  const size_t first = open.empty() ? 0 : random() % open.size();
  for (size_t i = 0; i < open.size(); ++i) {
    const size_t lane = open[(first + i) % open.size()];
    const Graph::Lane &captured = run.graph->lanes[lane];
    const Item &item = captured.items[run.next[lane]];
    Clock &clock = run.clocks[lane];
    switch (item.kind) {
    case Item::work:
      if (item.held && *item.held)
        continue;
      perform(item, captured.chain, clock);
      break;
    case Item::record:
      run.passed[item.at.get()] = clock;
      break;
    case Item::wait: {
      auto at = run.passed.find(item.at.get());
      if (at == run.passed.end())
        continue;
      clock.join(at->second);
      break;
    }
    case Item::graph:
      continue; // is not captured
    }
    ++run.next[lane];
    return true;
  }
  return false;
}

bool World::stepOf(Stream &stream) {
  if (stream.queue.empty())
    return false;
  Item &item = stream.queue.front();
  auto over = [&] {
    stream.queue.pop_front();
    return true;
  };
  if (stream.running) {
    if (stepOf(*stream.running))
      return true;
    for (size_t lane = 0; lane < stream.running->next.size(); ++lane)
      if (stream.running->next[lane] <
          stream.running->graph->lanes[lane].items.size())
        return false; // something waits or is held
    for (const Clock &clock : stream.running->clocks)
      stream.clock.join(clock);
    stream.running.reset();
    return over();
  }
  stream.clock.join(*item.caller);
  switch (item.kind) {
  case Item::work: {
    if (item.held && *item.held)
      return false;
    Item taken = std::move(item); // it may append to the queue
    stream.queue.pop_front();
    perform(taken, stream.chain, stream.clock);
    return true;
  }
  case Item::record:
    item.at->isPassed = true;
    item.at->time = time;
    item.at->clock = stream.clock;
    return over();
  case Item::wait:
    if (!item.at->isPassed)
      return false;
    stream.clock.join(item.at->clock);
    return over();
  case Item::graph: {
    GraphRun run;
    run.graph = item.what;
    run.next.resize(item.what->lanes.size());
    run.clocks.assign(item.what->lanes.size(), stream.clock);
    stream.running = std::move(run);
    return true;
  }
  }
  return false;
}

bool World::step() {
  const size_t count = streams.size();
  // What is held up at times: one stream, for long.
  const bool patient = random() % 16 != 0;
  const size_t first = random() % count;
  ++time;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (first + i) % count;
    if ((!patient || at != slow) && stepOf(streams[at]))
      return true;
  }
  return patient && slow < count && stepOf(streams[slow]);
}

void World::elapse() {
  for (unsigned n = pace ? random() % pace : 0; n > 0 && step(); --n) {
  }
}

cudaError_t World::waitUntil(const std::function<bool()> &over) {
  while (!over())
    if (!step()) {
      fault("the host would wait for ever");
      return cudaErrorLaunchTimeout;
    }
  return findings.empty() ? cudaSuccess : cudaErrorIllegalAddress;
}

cudaError_t World::unsafe() {
  if (!capture || capture->mode == cudaStreamCaptureModeRelaxed)
    return cudaSuccess;
  capture->isBroken = true;
  return cudaErrorStreamCaptureUnsupported;
}

void World::learn(const Clock &clock) {
  auto joined = std::make_shared<Clock>(*host);
  joined->join(clock);
  host = std::move(joined);
}

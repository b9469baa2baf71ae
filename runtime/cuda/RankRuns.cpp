//===- RankRuns.cpp - Runs of which other ranks have a part on CUDA -------===//
//
// Nothing on a GPU ever waits for another rank: a queue of the hardware may
// serve several streams, so that what waits in one could hold up what the other
// rank waits for. The host starts each step when all that it reads has arrived,
// lane by lane, as far as each gets; a graph of the whole sequence cannot.
//
// What leaves is brought to pinned memory of the host behind its writers, on a
// stream beside their lane, and a host function then sends it. What arrives is
// read in the host's memory (HostImage.h). Between nodes this crosses the bus
// once on either side; inside of a node one process runs all GPUs, and nothing
// does.
//
// Not run on several GPUs yet; the emulation of the tests runs it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMachine.h"

#include <algorithm>
#include <utility>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

std::vector<exchange::Step>
CudaMachine::stepsOf(const Sequence &sequence) const {
  std::vector<exchange::Step> steps;
  for (const Sequence::Step &each : sequence.steps) {
    exchange::Step step;
    step.lane = each.lane->index;
    step.device = each.lane->device;
    if (each.event) {
      step.kind = each.isRecord ? exchange::Step::record : exchange::Step::wait;
      step.event = each.event->number;
    } else {
      for (const Tensor &y : each.results)
        if (y)
          step.writes.push_back({step.device, y});
      for (const Tensor &x : each.read)
        if (const int from = deviceOf(x.data); from != step.device)
          step.reads.push_back({from, x});
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void CudaMachine::shareRecorded(Sequence &sequence) {
  SequenceExchange::Setting setting;
  setting.number = exchange->size();
  for (RunCounter &event : heard)
    setting.events.push_back(&event);
  setting.allocate = [this](int64_t bytes) { // kernels pack into it
    return static_cast<char *>(
        allocatePinned(bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  };
  setting.stagesAll = true;
  auto one =
      std::make_unique<SequenceExchange>(stepsOf(sequence), *team, setting);
  for (const Tensor &region : one->landings()) {
    const exchange::Span span = exchange::spanOf(region);
    devices[deviceOf(region.data)].image.pin(span.begin, span.end);
  }
  sequence.perLane.resize(lanes.size());
  for (size_t i = 0; i < sequence.steps.size(); ++i)
    if (const CudaLane &lane = *sequence.steps[i].lane; isLocal(lane.device))
      sequence.perLane[lane.index].push_back(static_cast<int>(i));
  sequence.exchange = &exchange->add(std::move(one));
  if (team->remote)
    team->remote->record(sequence.name.c_str());
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void CudaMachine::runShared(Sequence &sequence, const Starter &start,
                            std::unique_lock<std::mutex> &lock) {
  if (team->remote)
    team->remote->run(sequence.exchange->number);
  const uint64_t run = ++sharedRuns;
  settle();
  lock.unlock();
  exchange->meet(run, failed);
  lock.lock();
  if (failed) // else others may be at work on the run before
    return;
  enqueue([&] { dispatch(sequence, run, start, lock); });
}

/// Starts what may be started until all is.
void CudaMachine::dispatch(Sequence &sequence, uint64_t run,
                           const Starter &start,
                           std::unique_lock<std::mutex> &lock) {
  // How long the host may sleep before it looks at its GPUs again.
  constexpr std::chrono::microseconds most(500);
  const SequenceExchange &others = *sequence.exchange;
  for (Outgoing *out : others.leavingAtStart())
    leave(*out, run, laneOn(deviceOf(out->source.data)));
  std::vector<size_t> next(lanes.size());
  std::vector<bool> recorded(events.size());
  auto mayStart = [&](int index) {
    const Sequence::Step &step = sequence.steps[index];
    if (!others.mayStart(index, run))
      return false;
    if (!step.event || step.isRecord)
      return true;
    const int event = step.event->number;
    return step.run ? recorded[event] : heard[event].hasHappened(run);
  };
  auto advance = [&](const CudaLane &lane) {
    const std::vector<int> &own = sequence.perLane[lane.index];
    size_t &at = next[lane.index];
    const size_t before = at;
    for (; at < own.size() && mayStart(own[at]); ++at) {
      const Sequence::Step &step = sequence.steps[own[at]];
      if (step.run) // else the wait is over
        start(step);
      if (step.isRecord)
        recorded[step.event->number] = true;
      for (Outgoing *out : others.leavingBehind(own[at]))
        leaveBehind(*out, run, *step.lane);
    }
    return at > before;
  };
  auto isThrough = [&](auto &lane) {
    return next[lane->index] == sequence.perLane[lane->index].size();
  };
  while (!std::all_of(lanes.begin(), lanes.end(), isThrough)) {
    const uint64_t arrivals = exchange->arrivals();
    bool hasMoved = false;
    for (auto &lane : lanes)
      hasMoved |= advance(*lane);
    if (hasMoved)
      continue;
    for (auto &lane : lanes)
      if (isLocal(lane->device))
        if (cudaError_t status = cudaStreamQuery(lane->stream);
            status != cudaErrorNotReady)
          check(status, "running the program");
    lock.unlock();
    exchange->awaitArrival(arrivals, most);
    lock.lock();
    if (failed)
      return;
  }
}

CudaLane &CudaMachine::laneOn(int device) const {
  auto isThere = [&](auto &lane) { return lane->device == device; };
  return **std::find_if(lanes.begin(), lanes.end(), isThere);
}

/// One of its writers, on `lane`, was started.
void CudaMachine::leaveBehind(Outgoing &out, uint64_t run, CudaLane &lane) {
  Leaving &beside = leaving[lane.index];
  CudaLane &carrier = *leaving[out.lane].lane;
  lane.gpu.use();
  check(cudaEventRecord(beside.written, lane.stream), "recording an event");
  check(cudaStreamWaitEvent(carrier.stream, beside.written, 0),
        "waiting for an event");
  if (SequenceExchange::isLastWriter(out))
    leave(out, run, *lanes[out.lane]);
}

static void sendFromHost(void *out) { static_cast<Outgoing *>(out)->send(); }

/// Sends it when what was put beside the lane so far is through.
void CudaMachine::leave(Outgoing &out, uint64_t run, CudaLane &lane) {
  CudaLane &carrier = *leaving[lane.index].lane;
  carrier.gpu.use();
  if (out.source && exchange::isContiguous(out.source))
    check(cudaMemcpyAsync(out.staging, out.source.data,
                          static_cast<size_t>(out.parcel.bytes),
                          cudaMemcpyDeviceToHost, carrier.stream),
          "bringing what is sent to the host");
  else if (out.source)
    launchCopy(carrier, packedAs(out.source, out.staging), out.source);
  out.parcel.run = run;
  check(cudaLaunchHostFunc(carrier.stream, sendFromHost, &out),
        "sending to another rank");
}

RankLink CudaMachine::measureRanks() {
  std::unique_lock lock(calls);
  if (team->remote)
    team->remote->measure();
  settle();
  lock.unlock();
  return exchange->measure(failed);
}

void CudaMachine::stop(std::exception_ptr exception) {
  {
    std::lock_guard lock(failing);
    if (!failure)
      failure = exception;
    failed = true;
  }
  if (exchange)
    exchange->giveUp();
}

void CudaMachine::throwIfStopped() {
  std::lock_guard lock(failing);
  if (failure) // other ranks do not go on, either
    std::rethrow_exception(failure);
}

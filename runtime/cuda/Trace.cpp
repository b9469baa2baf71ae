//===- Trace.cpp - When each operator ran on CUDA -------------------------===//
//
// The kernels of a graph cannot be timed one by one, so a traced run makes the
// same calls without the graph, each between two events on its lane's stream.
// The lanes run side by side and wait for each other as in the graph, but the
// host starts every call by itself: a call that takes less time than starting
// it seems as long as that. What a whole step takes is only told by run.
//
// Events know the time since another event of the same GPU. While all GPUs are
// idle, each gets one whose time on the host's clock is known to within some
// microseconds; all others are counted from there. Not run on a GPU yet.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMachine.h"

#include <chrono>

using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {
/// A moment as an event of one GPU and in nanoseconds of the host's clock.
class Moment {
public:
  /// Now, on an idle stream of the current GPU.
  explicit Moment(cudaStream_t idle) {
    check(cudaEventCreate(&event), "making an event");
    check(cudaEventRecord(event, idle), "recording an event");
    check(cudaEventSynchronize(event), "waiting for an event");
    using namespace std::chrono;
    host = duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
               .count();
  }
  Moment(const Moment &) = delete;
  ~Moment() { cudaEventDestroy(event); }

  /// A later event of the same GPU on the host's clock.
  int64_t timeOf(cudaEvent_t later) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event, later),
          "reading the time of an event");
    return host + static_cast<int64_t>(double(milliseconds) * 1e6);
  }

private:
  cudaEvent_t event = nullptr;
  int64_t host = 0;
};
} // namespace

/// Before anything is timed: making an event takes the host a while.
void CudaMachine::makeTimers(Sequence &sequence) {
  if (!sequence.timers.empty())
    return;
  for (const Sequence::Step &step : sequence.steps) {
    auto &[before, after] = sequence.timers.emplace_back();
    if (!step.op || !isLocal(step.lane->device))
      continue;
    step.lane->gpu.use();
    check(cudaEventCreate(&before), "making an event");
    check(cudaEventCreate(&after), "making an event");
  }
}

const std::vector<TracedCall> &CudaMachine::runTraced(Sequence *sequence) {
  std::unique_lock lock(calls);
  settle();
  ++sequence->runs;
  makeTimers(*sequence);
  std::map<Gpu *, Moment> starts;
  for (Device &device : devices)
    if (device.stream) {
      device.gpu->use();
      starts.try_emplace(device.gpu, device.stream);
    }
  auto start = [&](const Sequence::Step &step) {
    auto [before, after] = sequence->timers[&step - sequence->steps.data()];
    step.lane->gpu.use();
    if (!step.op)
      return call(step);
    check(cudaEventRecord(before, step.lane->stream), "recording an event");
    call(step);
    check(cudaEventRecord(after, step.lane->stream), "recording an event");
  };
  if (team)
    runShared(*sequence, start, lock);
  else
    for (const Sequence::Step &step : sequence->steps)
      start(step);
  for (auto &lane : lanes)
    if (isLocal(lane->device)) {
      lane->gpu.use();
      check(cudaStreamSynchronize(lane->stream), "running the program");
    }
  std::vector<TracedCall> &timed = traces.emplace_back();
  for (size_t i = 0; i < sequence->steps.size(); ++i) {
    const Sequence::Step &step = sequence->steps[i];
    if (!step.op)
      continue;
    TracedCall &call = timed.emplace_back();
    call = {step.lane->index, step.layer, step.phase, step.op};
    auto [before, after] = sequence->timers[i];
    if (!before || failed) // of another rank, or never started
      continue;
    const Moment &moment = starts.at(&step.lane->gpu);
    call.begin = moment.timeOf(before);
    call.end = moment.timeOf(after);
  }
  return timed;
}

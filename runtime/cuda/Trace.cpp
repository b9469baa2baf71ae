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
static void makeTimers(Sequence &sequence) {
  if (!sequence.timers.empty())
    return;
  for (const Sequence::Step &step : sequence.steps)
    if (step.op) {
      step.lane->gpu.use();
      auto &[before, after] = sequence.timers.emplace_back();
      check(cudaEventCreate(&before), "making an event");
      check(cudaEventCreate(&after), "making an event");
    }
}

const std::vector<TracedCall> &CudaMachine::runTraced(Sequence *sequence) {
  synchronize();
  ++sequence->runs;
  makeTimers(*sequence);
  std::map<Gpu *, Moment> starts;
  for (Device &device : devices) {
    device.gpu->use();
    starts.try_emplace(device.gpu, device.stream);
  }
  auto timer = sequence->timers.begin();
  for (Sequence::Step &step : sequence->steps) {
    step.lane->gpu.use();
    if (!step.op) {
      call(step);
      continue;
    }
    auto [before, after] = *timer++;
    check(cudaEventRecord(before, step.lane->stream), "recording an event");
    call(step);
    check(cudaEventRecord(after, step.lane->stream), "recording an event");
  }
  for (auto &lane : lanes) {
    lane->gpu.use();
    check(cudaStreamSynchronize(lane->stream), "running the program");
  }
  std::vector<TracedCall> &calls = traces.emplace_back();
  timer = sequence->timers.begin();
  for (const Sequence::Step &step : sequence->steps) {
    if (!step.op)
      continue;
    const Moment &start = starts.at(&step.lane->gpu);
    auto [before, after] = *timer++;
    calls.push_back({step.lane->index, step.layer, step.phase, step.op,
                     start.timeOf(before), start.timeOf(after)});
  }
  return calls;
}

//===- RuntimeStreams.cpp - CUDA's functions of streams and events --------===//

#include "World.h"

using namespace lwcc::emulation;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  World &w = world();
  // One that waits for the default stream is not emulated.
  if (flags != cudaStreamNonBlocking)
    return w.answer(cudaErrorInvalidValue);
  *stream = reinterpret_cast<cudaStream_t>(&w.makeStream(w.current, false));
  return cudaSuccess;
}

/// Two priorities, as most GPUs have at least.
static constexpr int leastPriority = 0, greatestPriority = -1;

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = leastPriority;
  *greatest = greatestPriority;
  return cudaSuccess;
}

/// A priority is a wish: nothing may depend on which stream goes first.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int priority) {
  if (priority > leastPriority || priority < greatestPriority)
    return world().answer(cudaErrorInvalidValue);
  return cudaStreamCreateWithFlags(stream, flags);
}

/// What is on it still runs.
cudaError_t cudaStreamDestroy(cudaStream_t on) {
  Stream &stream = streamOf(on);
  if (!on || stream.isDestroyed || stream.capture)
    return world().answer(cudaErrorInvalidResourceHandle);
  stream.isDestroyed = true;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t on) {
  World &w = world();
  Stream &stream = streamOf(on);
  ++w.hostSleeps;
  if (stream.isDestroyed)
    return w.answer(cudaErrorInvalidResourceHandle);
  if (stream.capture) {
    stream.capture->isBroken = true;
    return w.answer(cudaErrorStreamCaptureUnsupported);
  }
  if (w.omitsHostWaits)
    return cudaSuccess;
  cudaError_t status = w.waitUntil([&] { return stream.queue.empty(); });
  w.learn(stream.clock);
  return w.answer(status);
}

/// Whoever asks will ask again: something goes on.
cudaError_t cudaStreamQuery(cudaStream_t on) {
  World &w = world();
  Stream &stream = streamOf(on);
  if (stream.isDestroyed)
    return w.answer(cudaErrorInvalidResourceHandle);
  if (stream.capture) {
    stream.capture->isBroken = true;
    return w.answer(cudaErrorStreamCaptureUnsupported);
  }
  w.step();
  w.elapse();
  if (!stream.queue.empty())
    return w.answer(cudaErrorNotReady);
  w.learn(stream.clock);
  return w.findings.empty() ? cudaSuccess : w.answer(cudaErrorIllegalAddress);
}

/// The host knows from then on what is over. That whoever goes by it has waited
/// for the function is not seen: a call that has not shows where it comes
/// first.
cudaError_t cudaLaunchHostFunc(cudaStream_t on, cudaHostFn_t function,
                               void *data) {
  World &w = world();
  w.elapse();
  Stream &stream = streamOf(on);
  if (stream.isDestroyed)
    return w.answer(cudaErrorInvalidResourceHandle);
  Item item;
  item.name = "a host function";
  item.device = stream.device;
  item.run = [=, &w] {
    w.learn(*now.clock);
    function(data);
  };
  return w.answer(w.push(stream, std::move(item)));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t on, cudaEvent_t at,
                                unsigned flags) {
  World &w = world();
  w.elapse();
  Event &event = eventOf(at);
  Stream &stream = streamOf(on);
  if (event.isDestroyed || stream.isDestroyed)
    return w.answer(cudaErrorInvalidResourceHandle);
  if (flags)
    return w.answer(cudaErrorInvalidValue);
  if (!event.last)
    return cudaSuccess; // nothing to wait for
  World::Pair pair = {stream.number, event.last->stream->number};
  w.waits.insert(pair);
  if (pair == w.omitted)
    return cudaSuccess;
  const std::shared_ptr<Capture> &captured = event.last->capture;
  if (captured != stream.capture) {
    // A stream becomes part of a capture here; else neither may wait for the
    // other.
    if (stream.capture || captured != w.capture) {
      if (stream.capture)
        stream.capture->isBroken = true;
      return w.answer(cudaErrorStreamCaptureIsolation);
    }
    stream.capture = captured;
  }
  Item item;
  item.kind = Item::wait;
  item.at = event.last;
  return w.answer(w.push(stream, std::move(item)));
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned flags) {
  World &w = world();
  if (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming))
    return w.answer(cudaErrorInvalidValue);
  Event &event = w.events.emplace_back();
  event.device = w.current;
  event.isTimed = !(flags & cudaEventDisableTiming);
  *made = reinterpret_cast<cudaEvent_t>(&event);
  return cudaSuccess;
}

/// Events may be destroyed before they are passed.
cudaError_t cudaEventDestroy(cudaEvent_t at) {
  Event &event = eventOf(at);
  if (event.isDestroyed)
    return world().answer(cudaErrorInvalidResourceHandle);
  event.isDestroyed = true;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t at, cudaStream_t on) {
  World &w = world();
  w.elapse();
  Event &event = eventOf(at);
  Stream &stream = streamOf(on);
  if (event.isDestroyed || stream.isDestroyed || event.device != stream.device)
    return w.answer(cudaErrorInvalidResourceHandle);
  event.last = std::make_shared<Record>();
  event.last->stream = &stream;
  event.last->capture = stream.capture;
  Item item;
  item.kind = Item::record;
  item.at = event.last;
  return w.answer(w.push(stream, std::move(item)));
}

/// Whether the host may ask for an event; breaks a capture that it is part of.
static cudaError_t askFor(const Event &event) {
  if (event.isDestroyed)
    return cudaErrorInvalidResourceHandle;
  if (!event.last || !event.last->capture)
    return cudaSuccess;
  event.last->capture->isBroken = true;
  return cudaErrorCapturedEvent;
}

cudaError_t cudaEventQuery(cudaEvent_t at) {
  World &w = world();
  w.step(); // whoever asks will ask again
  w.elapse();
  Event &event = eventOf(at);
  if (cudaError_t status = askFor(event))
    return w.answer(status);
  if (w.omitsHostWaits || !event.last)
    return cudaSuccess;
  if (!event.last->isPassed)
    return cudaErrorNotReady;
  w.learn(event.last->clock);
  return w.findings.empty() ? cudaSuccess : w.answer(cudaErrorIllegalAddress);
}

cudaError_t cudaEventSynchronize(cudaEvent_t at) {
  World &w = world();
  Event &event = eventOf(at);
  ++w.hostSleeps;
  if (cudaError_t status = askFor(event))
    return w.answer(status);
  if (w.omitsHostWaits || !event.last)
    return cudaSuccess;
  cudaError_t status =
      w.waitUntil([last = event.last] { return last->isPassed; });
  w.learn(event.last->clock);
  return w.answer(status);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from,
                                 cudaEvent_t to) {
  World &w = world();
  Event &first = eventOf(from), &second = eventOf(to);
  for (const Event *event : {&first, &second}) {
    if (cudaError_t status = askFor(*event))
      return w.answer(status);
    if (!event->isTimed || !event->last || first.device != second.device)
      return w.answer(cudaErrorInvalidResourceHandle);
    if (!event->last->isPassed)
      return cudaErrorNotReady;
  }
  *milliseconds =
      static_cast<float>(second.last->time - first.last->time) * 1e-3f;
  return cudaSuccess;
}

//===- Upload.cpp - Input that arrives during the run before --------------===//

#include "runtime/cuda/Upload.h"
#include "runtime/cuda/Check.h"

using namespace lwcc::rt::cuda;

Upload::Upload(void *target, int64_t bytes,
               const std::array<void *, bufferCount> &memory)
    : target(target), bytes(static_cast<size_t>(bytes)) {
  for (int i = 0; i < bufferCount; ++i) {
    buffers[i].memory = memory[i];
    for (cudaEvent_t *event : {&buffers[i].filled, &buffers[i].emptied})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming),
            "making an event");
  }
}

Upload::~Upload() {
  for (Buffer &buffer : buffers)
    for (cudaEvent_t event : {buffer.filled, buffer.emptied})
      if (event)
        cudaEventDestroy(event);
}

void Upload::begin(const void *host, cudaStream_t uploads) {
  current = (current + 1) % bufferCount;
  Buffer &buffer = buffers[current];
  // Waits for nothing where the buffer is used for the first time.
  check(cudaStreamWaitEvent(uploads, buffer.emptied, 0), "sending input");
  check(cudaMemcpyAsync(buffer.memory, host, bytes, cudaMemcpyHostToDevice,
                        uploads),
        "sending input");
  check(cudaEventRecord(buffer.filled, uploads), "sending input");
}

void Upload::finish(cudaStream_t inOrder) {
  Buffer &buffer = buffers[current];
  check(cudaStreamWaitEvent(inOrder, buffer.filled, 0), "sending input");
  check(cudaMemcpyAsync(target, buffer.memory, bytes, cudaMemcpyDeviceToDevice,
                        inOrder),
        "sending input");
  check(cudaEventRecord(buffer.emptied, inOrder), "sending input");
}

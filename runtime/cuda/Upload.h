//===- Upload.h - Input that arrives during the run before ------*- C++ -*-===//
//
// Double buffering of what the host writes before every run (the batch). The
// target tensor must keep its value until the run before is over. So the host's
// data goes to one of two buffers on the device, over a stream of its own while
// that run is at work. From there it is copied to the target in order with the
// runs, within the device's memory, some twenty times quicker than over the
// bus.
//
// Which memory there is, and when runs begin, is CudaMachine's business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_UPLOAD_H
#define LWCC_RUNTIME_CUDA_UPLOAD_H

#include <array>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace lwcc::rt::cuda {

class Upload {
public:
  /// Below this a copy in order with the runs costs no more than its start.
  static constexpr int64_t leastBytes = 64 << 10;
  static constexpr int bufferCount = 2;

  /// Both buffers and the target have `bytes` bytes, on the device that is
  /// current.
  Upload(void *target, int64_t bytes,
         const std::array<void *, bufferCount> &buffers);
  Upload(const Upload &) = delete;
  ~Upload();

  /// Sends pinned memory, which must keep its value until what comes after
  /// finish() on its stream is over.
  void begin(const void *host, cudaStream_t uploads);
  /// Brings what was sent last to the target.
  void finish(cudaStream_t inOrder);

private:
  struct Buffer {
    void *memory = nullptr;
    cudaEvent_t filled = nullptr;  ///< the host's copy has arrived
    cudaEvent_t emptied = nullptr; ///< it was brought to the target
  };
  void *target;
  size_t bytes;
  std::array<Buffer, bufferCount> buffers;
  int current = 0;
};

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_UPLOAD_H

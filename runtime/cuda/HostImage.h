//===- HostImage.h - Another rank's device, in memory of the host *- C++
//-*-===//
//
// What this rank reads of a device that another rank runs lies in an image of
// its memory, at the same offset. The image is memory of the host, which the
// network fills; kernels read it by its address, over the bus. Each byte that
// arrives is read once or twice, so it would gain nothing from being copied to
// the GPU first. Only pages where something lands take memory.
//
// Does not decide what lands, or when it may be read (exchange/).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_HOSTIMAGE_H
#define LWCC_RUNTIME_CUDA_HOSTIMAGE_H

#include <cstdint>
#include <map>
#include <utility>

namespace lwcc::rt::cuda {

class HostImage {
public:
  HostImage() = default;
  /// Addresses for so many bytes. Throws Error if the system has none.
  explicit HostImage(int64_t bytes);
  HostImage(HostImage &&other) noexcept { *this = std::move(other); }
  HostImage &operator=(HostImage &&other) noexcept {
    std::swap(base, other.base);
    std::swap(size, other.size);
    std::swap(pinned, other.pinned);
    return *this;
  }
  ~HostImage();

  char *data() const { return base; }
  int64_t bytes() const { return size; }

  /// Lets all GPUs of this process read the pages of [begin, end). Nothing may
  /// read the image meanwhile. Throws Error if the system cannot pin them.
  void pin(const char *begin, const char *end);

private:
  char *base = nullptr;
  int64_t size = 0;
  /// What is pinned: whole pages that do not touch, the end by the beginning.
  std::map<char *, char *> pinned;
};

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_HOSTIMAGE_H

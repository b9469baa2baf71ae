//===- HostImage.cpp - Another rank's device, in memory of the host -------===//

#include "runtime/cuda/HostImage.h"

#include "runtime/core/Error.h"
#include "runtime/cuda/Check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

HostImage::HostImage(int64_t bytes) : size(bytes) {
  if (bytes == 0)
    return;
  void *memory =
      ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("no addresses for what is read of other ranks' devices (" +
                bytesText(bytes) + "): " + std::strerror(errno));
  base = static_cast<char *>(memory);
}

HostImage::~HostImage() {
  for (auto [begin, end] : pinned)
    cudaHostUnregister(begin);
  if (base)
    ::munmap(base, static_cast<size_t>(size));
}

// One registration for pages that touch: a copy by the driver must not cross
// from one to another.
void HostImage::pin(const char *from, const char *to) {
  const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  char *begin = base + (from - base) / page * page;
  char *end = base + (to - base + page - 1) / page * page;
  auto at = pinned.upper_bound(begin);
  if (at != pinned.begin() && std::prev(at)->second >= begin)
    --at;
  if (at != pinned.end() && at->first <= begin && at->second >= end)
    return;
  while (at != pinned.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    check(cudaHostUnregister(at->first), "pinning memory of the host anew");
    at = pinned.erase(at);
  }
  cudaError_t status =
      cudaHostRegister(begin, static_cast<size_t>(end - begin),
                       cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status != cudaSuccess) {
    cudaGetLastError(); // not sticky: clears it
    throw Error("cannot pin " + bytesText(end - begin) +
                " of the host's memory for what other ranks send: " +
                cudaGetErrorString(status) +
                "; free memory, or raise the limit of locked memory (ulimit "
                "-l)");
  }
  pinned.emplace(begin, end);
}

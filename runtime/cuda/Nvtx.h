//===- Nvtx.h - Named ranges for NVIDIA's profilers -------------*- C++ -*-===//
//
// A range from construction to destruction on the profiler's time line. The
// kernels of a graph carry no ranges of their own; per-layer ranges come from
// observed runs (Machine::runObserved).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_NVTX_H
#define LWCC_RUNTIME_CUDA_NVTX_H

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace lwcc::rt::cuda {

class ProfilerRange {
public:
#ifdef NVTX_VERSION
  explicit ProfilerRange(const char *name) { nvtxRangePushA(name); }
  ~ProfilerRange() { nvtxRangePop(); }
#else
  explicit ProfilerRange(const char *) {}
#endif
  ProfilerRange(const ProfilerRange &) = delete;
};

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_NVTX_H

//===- Check.h - CUDA's status codes as errors ------------------*- C++ -*-===//
//
// Every call into CUDA, cuBLAS or cuDNN goes through check(), so that a failure
// stops the program with a sentence that says what was being done and, where
// there is one, what the user can do about it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_CHECK_H
#define LWCC_RUNTIME_CUDA_CHECK_H

#include "runtime/core/Error.h"

#include <string>

#include <cuda_runtime_api.h>

namespace lwcc::rt::cuda {

/// "GPU: WHAT: an illegal memory access was encountered (...)".
std::string explain(cudaError_t status, const std::string &what);

inline void check(cudaError_t status, const char *what) {
  if (status != cudaSuccess)
    throw Error(explain(status, what));
}

/// "1.5 GB (1,500,000,000 bytes)"
std::string bytesText(int64_t bytes);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_CHECK_H

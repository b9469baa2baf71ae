//===- Shared.h - The memory of a block -------------------------*- C++ -*-===//
//
// What Kernels.h puts into the section of __shared__ variables. Each block
// finds it uninitialised.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_SHARED_H
#define LWCC_TEST_CUDAEMULATION_SHARED_H

#include <cstddef>

extern "C" {
extern char __start_lwcc_shared __attribute__((weak));
extern char __stop_lwcc_shared __attribute__((weak));
}

namespace lwcc::emulation {

inline bool isShared(const void *address) {
  return address >= &__start_lwcc_shared && address < &__stop_lwcc_shared;
}

/// Whether an access of what runs now is allowed; reports why not.
bool accessShared(const void *address, size_t bytes, bool writes, bool atomic);

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_SHARED_H

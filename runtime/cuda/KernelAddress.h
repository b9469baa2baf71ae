//===- KernelAddress.h - What a launch knows a kernel by --------*- C++ -*-===//
//
// All launches ask here for a kernel's address. Where a test runs kernels as
// host code, they are functions like others, and what they are called with
// depends on their types: then test/cuda-emulation/KernelAddress.h, included
// before, defines this function.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_KERNELADDRESS_H
#define LWCC_RUNTIME_CUDA_KERNELADDRESS_H

#ifndef LWCC_CUDA_EMULATION

namespace lwcc::rt::cuda {

template <typename... P>
const void *kernelAddress(void (*kernel)(P...)) {
  return reinterpret_cast<const void *>(kernel);
}

} // namespace lwcc::rt::cuda

#endif // LWCC_CUDA_EMULATION

#endif // LWCC_RUNTIME_CUDA_KERNELADDRESS_H

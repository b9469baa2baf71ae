//===- KernelAddress.h - What a launch knows a kernel by --------*- C++ -*-===//
//
// CUDA's runtime is given a kernel's address and pointers to its arguments; a
// host function also wants the arguments' types. So the runtime asks for a
// kernel's address here (runtime/cuda/KernelAddress.h), where the types are
// known. Included before everything else that is compiled for the emulation.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_KERNELADDRESS_H
#define LWCC_TEST_CUDAEMULATION_KERNELADDRESS_H

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#define LWCC_CUDA_EMULATION

namespace lwcc::emulation {

/// A kernel with the arguments of one launch.
class BoundKernel {
public:
  virtual ~BoundKernel() = default;
  /// One thread's call.
  virtual void call() const = 0;
  /// Whether an address is of the arguments.
  bool holds(const void *address) const {
    return static_cast<size_t>(static_cast<const char *>(address) -
                               reinterpret_cast<const char *>(this)) < size;
  }

protected:
  size_t size = 0;
};

template <typename... P>
class BoundKernelOf final : public BoundKernel {
public:
  BoundKernelOf(void (*kernel)(P...), void **pointers)
      : BoundKernelOf(kernel, pointers, std::index_sequence_for<P...>{}) {}
  void call() const override { std::apply(kernel, arguments); }

private:
  template <size_t... I>
  BoundKernelOf(void (*kernel)(P...), void **pointers,
                std::index_sequence<I...>)
      : kernel(kernel), arguments(*static_cast<P *>(pointers[I])...) {
    size = sizeof(*this);
  }
  void (*kernel)(P...);
  std::tuple<P...> arguments;
};

using BindKernel = std::unique_ptr<BoundKernel> (*)(const void *kernel,
                                                    void **arguments);
/// From now on this address can be launched.
void knowKernel(const void *kernel, BindKernel bind);

} // namespace lwcc::emulation

namespace lwcc::rt::cuda {

template <typename... P>
const void *kernelAddress(void (*kernel)(P...)) {
  auto address = reinterpret_cast<const void *>(kernel);
  emulation::knowKernel(
      address,
      [](const void *kernel,
         void **arguments) -> std::unique_ptr<emulation::BoundKernel> {
        return std::make_unique<emulation::BoundKernelOf<P...>>(
            reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel)),
            arguments);
      });
  return address;
}

} // namespace lwcc::rt::cuda

#endif // LWCC_TEST_CUDAEMULATION_KERNELADDRESS_H

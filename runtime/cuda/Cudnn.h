//===- Cudnn.h - Descriptors of cuDNN's backend interface -------*- C++ -*-===//
//
// A thin, checked C++ face of cudnn_backend.h, the C interface that the
// cudnn-frontend headers wrap as well. We call it directly: the few graphs that
// we build need 150 lines, whereas those headers cost 40 s in every file that
// includes them and would be one more thing to ship with an emitted program.
//
// Decides nothing; which graphs are built is ConvPlan.cpp's business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_CUDNN_H
#define LWCC_RUNTIME_CUDA_CUDNN_H

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_backend.h>

namespace lwcc::rt::cuda {

/// What cuDNN answered when it would not do something. Most often not an error
/// but a choice that is not on offer, so it is not an rt::Error.
struct CudnnRefusal : std::runtime_error {
  CudnnRefusal(cudnnStatus_t status, const char *what);
  cudnnStatus_t status;
};

/// One backend descriptor, destroyed with its owner.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor &&other) noexcept
      : raw(std::exchange(other.raw, nullptr)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Descriptor();

  cudnnBackendDescriptor_t get() const { return raw; }

  void set(cudnnBackendAttributeName_t name, int64_t value);
  void set(cudnnBackendAttributeName_t name, bool value);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  void set(cudnnBackendAttributeName_t name, cudnnConvolutionMode_t value);
  void set(cudnnBackendAttributeName_t name, cudnnPointwiseMode_t value);
  void set(cudnnBackendAttributeName_t name, cudnnBackendHeurMode_t value);
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value);
  void set(cudnnBackendAttributeName_t name, const Descriptor &value);
  void set(cudnnBackendAttributeName_t name,
           std::initializer_list<const Descriptor *> values);
  void set(cudnnBackendAttributeName_t name,
           const std::vector<int64_t> &values);
  void set(cudnnBackendAttributeName_t name,
           const std::vector<void *> &pointers);
  void set(cudnnBackendAttributeName_t name, void *pointer);
  void setText(cudnnBackendAttributeName_t name, const std::string &text);
  void finalize();

  int64_t getInt64(cudnnBackendAttributeName_t name) const;
  /// The elements of an attribute that is a list of descriptors of `type`.
  std::vector<Descriptor>
  getDescriptors(cudnnBackendAttributeName_t name,
                 cudnnBackendDescriptorType_t type) const;
  std::vector<cudnnBackendNumericalNote_t> getNumericalNotes() const;

private:
  void setRaw(cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, int64_t count,
              const void *values);
  cudnnBackendDescriptor_t raw = nullptr;
};

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_CUDNN_H

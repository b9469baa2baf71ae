//===- CudnnDescriptor.h - cuDNN's backend descriptors ----------*- C++ -*-===//
//
// A descriptor is a list of attributes, as the caller set them, and, once it is
// finalized, what they mean (CudnnGraph.h, CudnnEngines.h). CudnnAttributes.cpp
// holds which attributes each type of descriptor has, CudnnDescriptor.cpp the
// functions that set and read them; CudnnFinalize.cpp decides which descriptors
// are legal.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CUDNNDESCRIPTOR_H
#define LWCC_TEST_CUDAEMULATION_CUDNNDESCRIPTOR_H

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cudnn_backend.h>

/// What cudnnHandle_t points to.
struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};

namespace lwcc::emulation::dnn {

/// Thrown inside the library; the function that was called returns `status`.
struct Refusal {
  cudnnStatus_t status;
  std::string why; ///< for cudnnGetLastErrorString()
};

[[noreturn]] void refuse(cudnnStatus_t status, const std::string &why);

struct Descriptor;
using DescriptorPtr = std::shared_ptr<const Descriptor>;

/// The elements that were set: descriptors, or the bytes of anything else.
struct Attribute {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<char> bytes;
  std::vector<DescriptorPtr> descriptors;

  template <typename T>
  std::vector<T> as() const {
    std::vector<T> values;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      T value;
      std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
      values.push_back(value);
    }
    return values;
  }
};

struct Graph;
struct Plan;

struct Descriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
  // What finalizing made of the attributes.
  std::shared_ptr<const Graph> graph; ///< of a graph, an engine, a heuristic
  std::shared_ptr<const Plan> plan;   ///< of a plan

  bool has(cudnnBackendAttributeName_t name) const {
    return attributes.count(name) != 0;
  }
  /// The elements; none where the attribute is not set.
  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    auto at = attributes.find(name);
    return at == attributes.end() ? std::vector<T>() : at->second.as<T>();
  }
  /// The first element, or `otherwise`.
  template <typename T>
  T get(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    auto values = list<T>(name);
    return values.empty() ? otherwise : values.front();
  }
  /// A number that may have been given as float or double.
  double number(cudnnBackendAttributeName_t name, double otherwise) const;
  /// The first descriptor; null where the attribute is not set.
  DescriptorPtr part(cudnnBackendAttributeName_t name) const;
  const std::vector<DescriptorPtr> &
  parts(cudnnBackendAttributeName_t name) const;

  template <typename T>
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as,
           const std::vector<T> &values) {
    Attribute &to = attributes[name];
    to.type = as;
    to.count = static_cast<int64_t>(values.size());
    const char *from = reinterpret_cast<const char *>(values.data());
    to.bytes.assign(from, from + values.size() * sizeof(T));
  }
  void putParts(cudnnBackendAttributeName_t name,
                std::vector<DescriptorPtr> values);
};

/// What cudnnBackendDescriptor_t points to: a descriptor may live on in others
/// after the caller has destroyed it.
struct DescriptorHandle {
  std::shared_ptr<Descriptor> descriptor;
};

/// The descriptor behind a handle; refuses null and destroyed ones.
Descriptor &descriptorOf(cudnnBackendDescriptor_t handle);
/// The same, finalized and of a type.
DescriptorPtr finalizedOf(cudnnBackendDescriptor_t handle,
                          cudnnBackendDescriptorType_t type);

/// An attribute of a type of descriptor. CUDNN_TYPE_FLOAT stands for float or
/// double.
struct AttributeRule {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t most = 1; ///< elements
  enum { optional, required, computed } kind = required;
};
std::span<const AttributeRule> attributeRules();

/// Checks the attributes and fills in what they mean; refuses or returns.
void finalize(Descriptor &descriptor);

void rememberRefusal(const Refusal &refusal);

/// Runs `body`, which refuses or returns, and says how it ended.
template <typename F>
cudnnStatus_t answer(F body) {
  try {
    body();
    return CUDNN_STATUS_SUCCESS;
  } catch (const Refusal &refusal) {
    rememberRefusal(refusal);
    return refusal.status;
  }
}

} // namespace lwcc::emulation::dnn

#endif // LWCC_TEST_CUDAEMULATION_CUDNNDESCRIPTOR_H

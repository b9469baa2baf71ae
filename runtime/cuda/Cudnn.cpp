//===- Cudnn.cpp - Descriptors of cuDNN's backend interface ---------------===//

#include "runtime/cuda/Cudnn.h"

using namespace lwcc::rt::cuda;

static std::string explain(cudnnStatus_t status, const char *what) {
  char detail[256] = {};
  cudnnGetLastErrorString(detail, sizeof(detail));
  std::string text = std::string(what) + ": " + cudnnGetErrorString(status);
  if (detail[0])
    text += std::string(" (") + detail + ")";
  return text;
}

CudnnRefusal::CudnnRefusal(cudnnStatus_t status, const char *what)
    : std::runtime_error(explain(status, what)), status(status) {}

static void check(cudnnStatus_t status, const char *what) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw CudnnRefusal(status, what);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &raw), "cuDNN descriptor");
}

Descriptor::~Descriptor() {
  if (raw)
    cudnnBackendDestroyDescriptor(raw);
}

void Descriptor::setRaw(cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count,
                        const void *values) {
  check(cudnnBackendSetAttribute(raw, name, type, count, values),
        "cuDNN attribute");
}

void Descriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  setRaw(name, CUDNN_TYPE_INT64, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, bool value) {
  setRaw(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  setRaw(name, CUDNN_TYPE_FLOAT, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  setRaw(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     cudnnConvolutionMode_t value) {
  setRaw(name, CUDNN_TYPE_CONVOLUTION_MODE, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     cudnnPointwiseMode_t value) {
  setRaw(name, CUDNN_TYPE_POINTWISE_MODE, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     cudnnBackendHeurMode_t value) {
  setRaw(name, CUDNN_TYPE_HEUR_MODE, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name, cudnnHandle_t value) {
  setRaw(name, CUDNN_TYPE_HANDLE, 1, &value);
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     const Descriptor &value) {
  setRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw);
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     std::initializer_list<const Descriptor *> values) {
  std::vector<cudnnBackendDescriptor_t> raws;
  for (const Descriptor *value : values)
    raws.push_back(value->raw);
  setRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raws.size()),
         raws.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     const std::vector<int64_t> &values) {
  setRaw(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()),
         values.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name,
                     const std::vector<void *> &pointers) {
  setRaw(name, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()),
         pointers.data());
}
void Descriptor::set(cudnnBackendAttributeName_t name, void *pointer) {
  setRaw(name, CUDNN_TYPE_VOID_PTR, 1, &pointer);
}
void Descriptor::setText(cudnnBackendAttributeName_t name,
                         const std::string &text) {
  setRaw(name, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data());
}

void Descriptor::finalize() { check(cudnnBackendFinalize(raw), "cuDNN"); }

int64_t Descriptor::getInt64(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, count = 0;
  check(
      cudnnBackendGetAttribute(raw, name, CUDNN_TYPE_INT64, 1, &count, &value),
      "cuDNN attribute");
  return value;
}

std::vector<Descriptor>
Descriptor::getDescriptors(cudnnBackendAttributeName_t name,
                           cudnnBackendDescriptorType_t type) const {
  int64_t count = 0;
  check(cudnnBackendGetAttribute(raw, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                 &count, nullptr),
        "cuDNN attribute");
  std::vector<Descriptor> elements;
  std::vector<cudnnBackendDescriptor_t> raws;
  for (int64_t i = 0; i < count; ++i) {
    elements.emplace_back(type);
    raws.push_back(elements.back().get());
  }
  check(cudnnBackendGetAttribute(raw, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 count, &count, raws.data()),
        "cuDNN attribute");
  elements.resize(static_cast<size_t>(count));
  return elements;
}

std::vector<cudnnBackendNumericalNote_t> Descriptor::getNumericalNotes() const {
  std::vector<cudnnBackendNumericalNote_t> notes(
      CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  int64_t count = 0;
  check(cudnnBackendGetAttribute(
            raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
            static_cast<int64_t>(notes.size()), &count, notes.data()),
        "cuDNN attribute");
  notes.resize(static_cast<size_t>(count));
  return notes;
}

//===- CudnnDescriptor.cpp - The attributes of cuDNN's descriptors --------===//
//
// The functions that create, set, read and destroy descriptors. An attribute
// that CudnnAttributes.cpp does not list is refused: either cuDNN has none of
// that name in that descriptor, or nobody has taught this library what it
// means.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/CudnnDescriptor.h"

#include <algorithm>
#include <set>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

static size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return sizeof(void *);
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
    return 8;
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_CHAR:
    return 1;
  default:
    return 4; // floats and enumerations
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

void lwcc::emulation::dnn::refuse(cudnnStatus_t status,
                                  const std::string &why) {
  throw Refusal{status, why};
}

double Descriptor::number(cudnnBackendAttributeName_t name,
                          double otherwise) const {
  auto at = attributes.find(name);
  if (at == attributes.end())
    return otherwise;
  return at->second.type == CUDNN_TYPE_DOUBLE
             ? at->second.as<double>().front()
             : static_cast<double>(at->second.as<float>().front());
}

const std::vector<DescriptorPtr> &
Descriptor::parts(cudnnBackendAttributeName_t name) const {
  static const std::vector<DescriptorPtr> none;
  auto at = attributes.find(name);
  return at == attributes.end() ? none : at->second.descriptors;
}

DescriptorPtr Descriptor::part(cudnnBackendAttributeName_t name) const {
  const auto &all = parts(name);
  return all.empty() ? nullptr : all.front();
}

void Descriptor::putParts(cudnnBackendAttributeName_t name,
                          std::vector<DescriptorPtr> values) {
  Attribute &to = attributes[name];
  to.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  to.count = static_cast<int64_t>(values.size());
  to.descriptors = std::move(values);
}

/// The handles that were created and not destroyed.
static std::set<cudnnBackendDescriptor_t> &alive() {
  static std::set<cudnnBackendDescriptor_t> handles;
  return handles;
}

Descriptor &
lwcc::emulation::dnn::descriptorOf(cudnnBackendDescriptor_t handle) {
  if (!handle)
    refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a descriptor is null");
  if (!alive().count(handle))
    refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor, or one that was destroyed");
  return *static_cast<DescriptorHandle *>(handle)->descriptor;
}

DescriptorPtr
lwcc::emulation::dnn::finalizedOf(cudnnBackendDescriptor_t handle,
                                  cudnnBackendDescriptorType_t type) {
  Descriptor &descriptor = descriptorOf(handle);
  if (descriptor.type != type)
    refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           "a descriptor of type " + std::to_string(descriptor.type) +
               " in place of " + std::to_string(type));
  if (!descriptor.finalized)
    refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part is not finalized");
  return static_cast<DescriptorHandle *>(handle)->descriptor;
}

static const AttributeRule &ruleOf(const Descriptor &descriptor,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type) {
  for (const AttributeRule &rule : attributeRules()) {
    if (rule.descriptor != descriptor.type || rule.name != name)
      continue;
    if (rule.type != type &&
        !(rule.type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE))
      refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
             "attribute " + std::to_string(name) + " is not of type " +
                 std::to_string(type));
    return rule;
  }
  refuse(CUDNN_STATUS_BAD_PARAM,
         "a descriptor of type " + std::to_string(descriptor.type) +
             " has no attribute " + std::to_string(name));
}

static void setAttribute(Descriptor &descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count,
                         const void *elements) {
  if (descriptor.finalized)
    refuse(CUDNN_STATUS_BAD_PARAM, "it is finalized already");
  const AttributeRule &rule = ruleOf(descriptor, name, type);
  if (rule.kind == AttributeRule::computed)
    refuse(CUDNN_STATUS_BAD_PARAM, "this attribute can only be read");
  if (count <= 0 || count > rule.most)
    refuse(CUDNN_STATUS_BAD_PARAM, std::to_string(count) +
                                       " elements for attribute " +
                                       std::to_string(name));
  if (!elements)
    refuse(CUDNN_STATUS_BAD_PARAM, "no elements");
  Attribute attribute;
  attribute.type = type;
  attribute.count = count;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *handles = static_cast<const cudnnBackendDescriptor_t *>(elements);
    for (int64_t i = 0; i < count; ++i) {
      const Descriptor &part = descriptorOf(handles[i]);
      // Other parts may be finalized later, if before their owner.
      if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS && !part.finalized)
        refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
               "an operation is not finalized");
      attribute.descriptors.push_back(
          static_cast<DescriptorHandle *>(handles[i])->descriptor);
    }
  } else {
    auto *bytes = static_cast<const char *>(elements);
    attribute.bytes.assign(bytes,
                           bytes + static_cast<size_t>(count) * sizeOf(type));
  }
  descriptor.attributes[name] = std::move(attribute);
}

static void getAttribute(const Descriptor &descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested,
                         int64_t *count, void *elements) {
  if (!descriptor.finalized)
    refuse(CUDNN_STATUS_NOT_INITIALIZED, "it is not finalized");
  ruleOf(descriptor, name, type);
  auto at = descriptor.attributes.find(name);
  int64_t available = at == descriptor.attributes.end() ? 0 : at->second.count;
  // Without room for elements cuDNN tells how many there may be of them, which
  // is more than there are.
  if (count)
    *count = requested > 0 ? available
             : name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
                     at != descriptor.attributes.end()
                 ? available + 3
                 : available;
  const int64_t copied = std::min(requested, available);
  if (copied <= 0)
    return;
  if (!elements)
    refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to write elements");
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::memcpy(elements, at->second.bytes.data(),
                static_cast<size_t>(copied) * sizeOf(type));
    return;
  }
  // The caller's own descriptors become what is asked for.
  auto *handles = static_cast<cudnnBackendDescriptor_t *>(elements);
  for (int64_t i = 0; i < copied; ++i) {
    const DescriptorPtr &part = at->second.descriptors[static_cast<size_t>(i)];
    if (descriptorOf(handles[i]).type != part->type)
      refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
             "a descriptor of another type than the attribute's");
    static_cast<DescriptorHandle *>(handles[i])->descriptor =
        std::make_shared<Descriptor>(*part);
  }
  if (count)
    *count = copied;
}

//===----------------------------------------------------------------------===//
// The library's functions
//===----------------------------------------------------------------------===//

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  return answer([&] {
    if (!descriptor)
      refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to write it");
    auto rules = attributeRules();
    if (std::none_of(
            rules.begin(), rules.end(),
            [&](const AttributeRule &rule) { return rule.descriptor == type; }))
      refuse(CUDNN_STATUS_NOT_SUPPORTED,
             "descriptors of type " + std::to_string(type));
    auto *handle = new DescriptorHandle{std::make_shared<Descriptor>()};
    handle->descriptor->type = type;
    alive().insert(handle);
    *descriptor = handle;
  });
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return answer([&] {
    descriptorOf(descriptor);
    alive().erase(descriptor);
    delete static_cast<DescriptorHandle *>(descriptor);
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *elements) {
  return answer([&] {
    setAttribute(descriptorOf(descriptor), name, type, count, elements);
  });
}

cudnnStatus_t
cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested,
                         int64_t *count, void *elements) {
  return answer([&] {
    getAttribute(descriptorOf(descriptor), name, type, requested, count,
                 elements);
  });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return answer([&] {
    Descriptor &descriptor = descriptorOf(handle);
    if (descriptor.finalized)
      refuse(CUDNN_STATUS_BAD_PARAM, "it is finalized already");
    for (const AttributeRule &rule : attributeRules())
      if (rule.descriptor == descriptor.type &&
          rule.kind == AttributeRule::required && !descriptor.has(rule.name))
        refuse(CUDNN_STATUS_BAD_PARAM,
               "attribute " + std::to_string(rule.name) + " is not set");
    finalize(descriptor);
    descriptor.finalized = true;
  });
}

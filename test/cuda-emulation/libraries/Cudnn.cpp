//===- Cudnn.cpp - cuDNN's handles, texts and execution -------------------===//
//
// The functions of cuDNN that are not about a descriptor's attributes;
// cudnnBackendExecute() checks a variant pack against its plan.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/Emulation.h"
#include "test/cuda-emulation/libraries/CudnnEngines.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <algorithm>
#include <set>

using namespace lwcc::emulation;
using namespace lwcc::emulation::dnn;

/// The handles that were created and not destroyed.
static std::set<cudnnHandle_t> &handles() {
  static std::set<cudnnHandle_t> alive;
  return alive;
}

static void requireHandle(cudnnHandle_t handle) {
  if (!handle)
    refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the handle is null");
  if (!handles().count(handle))
    refuse(CUDNN_STATUS_BAD_PARAM, "no handle, or one that was destroyed");
}

static std::string &lastRefusal() {
  thread_local std::string text;
  return text;
}

void lwcc::emulation::dnn::rememberRefusal(const Refusal &refusal) {
  lastRefusal() = refusal.why;
}

void cudnnGetLastErrorString(char *message, size_t bytes) {
  if (!message || bytes == 0)
    return;
  message[lastRefusal().copy(message, bytes - 1)] = '\0';
  lastRefusal().clear();
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
#define LWCC_NAME(name)                                                        \
  case name:                                                                   \
    return #name;
    LWCC_NAME(CUDNN_STATUS_SUCCESS)
    LWCC_NAME(CUDNN_STATUS_NOT_INITIALIZED)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    LWCC_NAME(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    LWCC_NAME(CUDNN_STATUS_NOT_SUPPORTED)
    LWCC_NAME(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    LWCC_NAME(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
    LWCC_NAME(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
    LWCC_NAME(CUDNN_STATUS_EXECUTION_FAILED)
    LWCC_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDART)
#undef LWCC_NAME
  default:
    return "CUDNN_STATUS of another name";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  return answer([&] {
    if (!handle)
      refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to write a handle");
    cudnnContext context;
    if (cudaGetDevice(&context.device) != cudaSuccess)
      refuse(CUDNN_STATUS_NOT_INITIALIZED, "there is no device");
    *handle = new cudnnContext(context);
    handles().insert(*handle);
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return answer([&] {
    requireHandle(handle);
    handles().erase(handle);
    delete handle;
  });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return answer([&] {
    requireHandle(handle);
    handle->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream) {
  return answer([&] {
    requireHandle(handle);
    if (!stream)
      refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to write a stream");
    *stream = handle->stream;
  });
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

static bool isAligned(const void *pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) ==
         0;
}

/// Checks a variant pack against a plan and puts its run on the stream of the
/// handle.
static void execute(const cudnnContext &handle,
                    const std::shared_ptr<const Plan> &plan,
                    const Descriptor &pack) {
  auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto data = pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto *workspace = pack.get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  std::map<int64_t, void *> pointers;
  for (size_t i = 0; i < ids.size(); ++i)
    pointers[ids[i]] = data[i];
  for (const auto &[id, tensor] : plan->graph->tensors) {
    if (tensor.isVirtual)
      continue;
    auto at = pointers.find(id);
    if (at == pointers.end())
      refuse(CUDNN_STATUS_BAD_PARAM,
             "the variant pack has no tensor " + std::to_string(id));
    if (!at->second)
      refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
             "the pointer of tensor " + std::to_string(id) + " is null");
    if (!isAligned(at->second, tensor.alignment)) {
      fault("cudnnBackendExecute: tensor " + std::to_string(id) +
            " is less aligned than its descriptor says (" +
            std::to_string(tensor.alignment) + " bytes)");
      refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
             "the pointer of tensor " + std::to_string(id));
    }
  }
  for (const auto &[id, pointer] : pointers)
    if (!plan->graph->tensors.count(id))
      fault("cudnnBackendExecute: the plan has no tensor " +
            std::to_string(id));
  if (plan->workspace && !workspace)
    refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
  if (plan->workspace && !isAligned(workspace, 16))
    fault("cudnnBackendExecute: the workspace is not aligned to 16 bytes");
  if (plan->graph->device >= 0 && plan->graph->device != handle.device)
    refuse(CUDNN_STATUS_BAD_PARAM, "the plan is of another device");
  if (deviceOf(handle.stream) != handle.device)
    refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
           "the stream is of another device than the handle");
  if (plan->fails)
    refuse(CUDNN_STATUS_EXECUTION_FAILED, "this engine fails");
  noteRun("cudnnBackendExecute", handle.stream,
          drawOf({plan->graph->hash(), uint64_t(plan->engine->index)}));
  auto work = [plan, pointers, workspace] {
    // Before and behind: it must lie over neither operands nor the result.
    const auto bytes = static_cast<size_t>(plan->workspace);
    if (bytes && !scribble(workspace, bytes))
      return;
    runPlan(*plan, pointers);
    if (bytes)
      scribble(workspace, bytes);
  };
  if (enqueue(handle.stream, "cudnnBackendExecute", {}, work) != cudaSuccess)
    refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the stream takes no work");
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return answer([&] {
    requireHandle(handle);
    DescriptorPtr how =
        finalizedOf(plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    execute(*handle, how->plan,
            *finalizedOf(pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  });
}

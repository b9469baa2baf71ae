//===- RuntimeDevices.cpp - CUDA's functions of devices and errors --------===//
//
// LWCC_EMULATED_GPUS says how many GPUs there are. Each has few processors, so
// that loops over a grid go round more than once, and 8 GiB of memory.
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include <cstdio>
#include <cstring>

using namespace lwcc::emulation;

static bool exists(int device) { return device >= 0 && device < world().gpus; }

cudaError_t cudaGetDeviceCount(int *count) {
  *count = world().gpus;
  return *count ? cudaSuccess : world().answer(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (!exists(device))
    return world().answer(cudaErrorInvalidDevice);
  world().current = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = world().current;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  if (!exists(device))
    return world().answer(cudaErrorInvalidDevice);
  std::memset(properties, 0, sizeof(*properties));
  std::snprintf(properties->name, sizeof(properties->name), "emulated GPU");
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 1 + static_cast<int>(world().seed % 3);
  properties->totalGlobalMem = Memory::bytesOfOwner;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->sharedMemPerBlock = 48 << 10;
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  World &w = world();
  *total = Memory::bytesOfOwner;
  *available = Memory::bytesOfOwner - (size_t(1) << 30) -
               std::min(w.memory.bytesUsed(w.current),
                        Memory::bytesOfOwner - (size_t(1) << 30));
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!exists(device) || !exists(peer))
    return world().answer(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  World &w = world();
  if (!exists(peer) || peer == w.current)
    return w.answer(cudaErrorInvalidDevice);
  if (flags)
    return w.answer(cudaErrorInvalidValue);
  return w.memory.peers.insert({w.current, peer}).second
             ? cudaSuccess
             : w.answer(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceSynchronize() {
  World &w = world();
  ++w.hostSleeps;
  for (const Stream &stream : w.streams)
    if (stream.capture && stream.device == w.current) {
      stream.capture->isBroken = true;
      return w.answer(cudaErrorStreamCaptureUnsupported);
    }
  if (w.omitsHostWaits)
    return cudaSuccess;
  cudaError_t status = w.waitUntil([&] {
    for (const Stream &stream : w.streams)
      if (stream.device == w.current && !stream.queue.empty())
        return false;
    return true;
  });
  for (const Stream &stream : w.streams)
    if (stream.device == w.current)
      w.learn(stream.clock);
  return w.answer(status);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

cudaError_t cudaPeekAtLastError() { return world().lastError; }
cudaError_t cudaGetLastError() {
  return std::exchange(world().lastError, cudaSuccess);
}

const char *cudaGetErrorString(cudaError_t status) {
  switch (status) {
  case cudaSuccess:
    return "no error";
  case cudaErrorInvalidValue:
    return "invalid argument";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidConfiguration:
    return "invalid configuration argument";
  case cudaErrorInvalidDevice:
    return "invalid device ordinal";
  case cudaErrorInvalidDeviceFunction:
    return "invalid device function";
  case cudaErrorInvalidResourceHandle:
    return "invalid resource handle";
  case cudaErrorNotReady:
    return "device not ready";
  case cudaErrorIllegalAddress:
    return "an illegal memory access was encountered";
  case cudaErrorLaunchTimeout:
    return "the launch timed out and was terminated";
  case cudaErrorPeerAccessAlreadyEnabled:
    return "peer access is already enabled";
  case cudaErrorStreamCaptureUnsupported:
    return "operation not permitted when stream is capturing";
  case cudaErrorStreamCaptureInvalidated:
    return "operation failed due to a previous error during capture";
  case cudaErrorStreamCaptureUnmatched:
    return "operation would result in a merge of separate capture sequences";
  case cudaErrorStreamCaptureUnjoined:
    return "capturing stream has unjoined work";
  case cudaErrorStreamCaptureIsolation:
    return "dependency created on uncaptured work in another stream";
  case cudaErrorCapturedEvent:
    return "operation not permitted on an event last recorded in a capturing "
           "stream";
  default: {
    static thread_local char text[32];
    std::snprintf(text, sizeof(text), "error %d", static_cast<int>(status));
    return text;
  }
  }
}

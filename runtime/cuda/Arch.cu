//===- Arch.cu - Which GPUs this library holds code for -------------------===//
//
// Says for which architectures the program was compiled. nvcc tells that to its
// host pass alone, in a .cu file: this one.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/KernelAddress.h"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

static __global__ void probe() {}

std::string cuda::builtArchitectures() {
  std::string text;
  for (int arch : {__CUDA_ARCH_LIST__})
    text += (text.empty() ? "sm_" : ", sm_") + std::to_string(arch / 10);
  return text;
}

void cuda::requireCodeFor(const Gpu &gpu) {
  cudaFuncAttributes attributes = {};
  cudaError_t status = cudaFuncGetAttributes(&attributes, kernelAddress(probe));
  if (status == cudaErrorNoKernelImageForDevice ||
      status == cudaErrorInvalidDeviceFunction ||
      status == cudaErrorUnsupportedPtxVersion)
    throw Error("GPU " + std::to_string(gpu.id) + " (" + gpu.name + ") is sm_" +
                std::to_string(gpu.arch) + "; this program holds code for " +
                builtArchitectures() + "; compile it with lwcc --arch=sm_" +
                std::to_string(gpu.arch) +
                ", or choose another GPU with LWCC_DEVICES");
  check(status, "starting the GPU");
}

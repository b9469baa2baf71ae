//===- Gpu.cpp - Finding the machine's GPUs and their libraries -----------===//

#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/ConvPlan.h"
#include "runtime/cuda/GemmPlan.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <cublasLt.h>
#include <cudnn_backend.h>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

static const char waysOut[] =
    "; run this program on a machine with an NVIDIA GPU and driver 580 or "
    "newer, or compile the model for the CPU (lwcc --target=cpu)";

std::string cuda::explain(cudaError_t status, const std::string &what) {
  std::string text = "GPU: " + what + ": " + cudaGetErrorString(status);
  switch (status) {
  case cudaErrorMemoryAllocation:
    return text + "; free memory on the GPU or compile with a smaller --batch";
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidDeviceFunction:
  case cudaErrorInvalidKernelImage:
  case cudaErrorUnsupportedPtxVersion:
    return text + "; compile the program for this GPU's architecture "
                  "(lwcc --arch=sm_XY)";
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchFailure:
  case cudaErrorMisalignedAddress:
  case cudaErrorIllegalInstruction:
    return text + "; a kernel is at fault: run under compute-sanitizer to find "
                  "it";
  default:
    return text;
  }
}

std::string cuda::bytesText(int64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (size_t i = digits.size(); i > 3;)
    digits.insert(i -= 3, ",");
  char gigabytes[32];
  std::snprintf(gigabytes, sizeof(gigabytes), "%.2f GB",
                static_cast<double>(bytes) * 1e-9);
  return std::string(gigabytes) + " (" + digits + " bytes)";
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

int cuda::countGpus() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
      throw NoDevice(std::string("no NVIDIA driver was found on this machine") +
                     waysOut);
    throw Error("the NVIDIA driver of this machine is too old: it supports "
                "CUDA " +
                versionText(driver) + ", the program was built with CUDA " +
                versionText(runtime) + waysOut);
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw NoDevice(
        std::string("this machine has an NVIDIA driver but no GPU "
                    "that the program can use") +
        (visible ? std::string(" (CUDA_VISIBLE_DEVICES is \"") + visible + "\")"
                 : "") +
        waysOut);
  }
  if (status != cudaSuccess)
    throw Error(explain(status, "looking for GPUs") + waysOut);
  return count;
}

bool cuda::isSet(const char *name, const char *text) {
  std::string value = text ? text : "";
  if (!value.empty() && value != "0" && value != "1")
    throw Error(std::string(name) + " is \"" + value + "\"; it must be 0 or 1");
  return value == "1";
}

GraphUse cuda::graphUse(const char *text) {
  if (isSet("LWCC_GRAPH", text))
    return GraphUse::always;
  return text && *text ? GraphUse::never : GraphUse::ifPossible;
}

//===----------------------------------------------------------------------===//
// One GPU
//===----------------------------------------------------------------------===//

struct Gpu::Plans {
  std::map<ConvShape, std::optional<ConvPlan>> convolutions;
  std::map<ConvShape, std::string> refusals;
  std::map<GemmShape, GemmPlan> products;
};

Gpu::Gpu(int id) : id(id), plans(std::make_unique<Plans>()) {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, id), "reading GPU properties");
  name = properties.name;
  arch = properties.major * 10 + properties.minor;
  processors = properties.multiProcessorCount;
  use();
  requireCodeFor(*this);
}

Gpu::~Gpu() {
  // Plans before the handles that they were built with.
  plans.reset();
  if (dnn)
    cudnnDestroy(dnn);
  if (blas)
    cublasLtDestroy(blas);
}

void Gpu::use() const { check(cudaSetDevice(id), "starting the GPU"); }

int64_t Gpu::bytesFree() const {
  size_t available = 0, total = 0;
  use();
  check(cudaMemGetInfo(&available, &total), "asking for free memory");
  return static_cast<int64_t>(available);
}

cudnnContext *Gpu::cudnn() {
  if (!dnn) {
    int64_t before = bytesFree();
    cudnnStatus_t status = cudnnCreate(&dnn);
    if (status != CUDNN_STATUS_SUCCESS)
      throw Error("cuDNN does not start on " + name + ": " +
                  CudnnRefusal(status, "cudnnCreate").what());
    bytesOfLibraries += std::max<int64_t>(0, before - bytesFree());
  }
  return dnn;
}

cublasLtContext *Gpu::cublasLt() {
  if (!blas) {
    int64_t before = bytesFree();
    cublasStatus_t status = cublasLtCreate(&blas);
    if (status != CUBLAS_STATUS_SUCCESS)
      throw Error("cuBLASLt does not start on " + name + ": " +
                  cublasLtGetStatusString(status));
    bytesOfLibraries += std::max<int64_t>(0, before - bytesFree());
  }
  return blas;
}

namespace {
/// Zeroed memory of the current GPU for a while; null where there is too little
/// left, or nothing was asked for.
class Scratch {
public:
  explicit Scratch(int64_t bytes) : wanted(bytes > 0) {
    void *memory = nullptr;
    if (!wanted ||
        cudaMalloc(&memory, static_cast<size_t>(bytes)) != cudaSuccess) {
      cudaGetLastError(); // not sticky: clears it
      return;
    }
    pointer = static_cast<float *>(memory);
    check(cudaMemset(pointer, 0, static_cast<size_t>(bytes)),
          "clearing memory");
  }
  Scratch(const Scratch &) = delete;
  ~Scratch() { cudaFree(pointer); }

  bool isThere() const { return pointer || !wanted; }
  float *data() const { return pointer; }

private:
  bool wanted;
  float *pointer = nullptr;
};
} // namespace

static int64_t bytesOf(const Quad &dims) {
  int64_t elements = 1;
  for (int64_t extent : dims)
    elements *= extent;
  return elements * int64_t(sizeof(float));
}

void Gpu::warmUp(const std::function<void()> &first) {
  int64_t before = bytesFree();
  first();
  bytesOfLibraries += std::max<int64_t>(0, before - bytesFree());
}

namespace {
/// Runs the plans of one convolution on zeros, and times them.
class ConvTrial {
public:
  ConvTrial(Gpu &gpu, const ConvShape &shape)
      : gpu(gpu), x(bytesOf(shape.x)), w(bytesOf(shape.w)), y(bytesOf(shape.y)),
        bias(bytesOf({1, shape.y[1], 1, 1})) {
    for (cudaEvent_t *event : {&begin, &end})
      check(cudaEventCreate(event), "making an event");
  }
  ConvTrial(const ConvTrial &) = delete;
  ~ConvTrial() {
    for (cudaEvent_t event : {begin, end})
      cudaEventDestroy(event);
  }

  /// 0 where there is too little memory to try it: the first time will be in
  /// the program.
  double secondsOf(const ConvPlan &plan) {
    Scratch workspace(plan.workspaceBytes());
    for (const Scratch *each : {&x, &w, &y, &bias, &workspace})
      if (!each->isThere())
        return 0;
    cudnnSetStream(gpu.cudnn(), nullptr);
    // The first run may load or compile code.
    double seconds = run(plan, workspace);
    for (int i = 0; i < runs && seconds < slow; ++i)
      seconds = std::min(seconds, run(plan, workspace));
    return seconds;
  }

private:
  static constexpr int runs = 3;
  static constexpr double slow = 0.1; ///< not run again: loading is no matter

  double run(const ConvPlan &plan, const Scratch &workspace) {
    check(cudaEventRecord(begin, nullptr), "timing it");
    plan.execute(gpu.cudnn(), x.data(), w.data(), y.data(), bias.data(),
                 workspace.data());
    check(cudaEventRecord(end, nullptr), "timing it");
    check(cudaDeviceSynchronize(), "running it for the first time");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "timing it");
    // Even where the clock sees none: 0 would say that it was not run.
    return std::max(double(milliseconds) * 1e-3, 1e-9);
  }

  Gpu &gpu;
  Scratch x, w, y, bias;
  cudaEvent_t begin = nullptr, end = nullptr;
};
} // namespace

const ConvPlan *Gpu::planOf(const ConvShape &shape, std::string *reason) {
  auto [at, isNew] = plans->convolutions.try_emplace(shape);
  if (isNew) {
    use();
    const PlanTarget target(cudnn());
    warmUp([&] {
      ConvTrial trial(*this, shape);
      at->second = buildConvPlan(
          target, shape, &plans->refusals[shape],
          [&](const ConvPlan &plan) { return trial.secondsOf(plan); });
    });
  }
  if (!at->second && reason)
    *reason = plans->refusals[shape];
  return at->second ? &*at->second : nullptr;
}

const GemmPlan &Gpu::planOf(const GemmShape &shape) {
  auto at = plans->products.find(shape);
  if (at == plans->products.end()) {
    use();
    at = plans->products.emplace(shape, buildGemmPlan(cublasLt(), shape)).first;
    const GemmPlan &plan = at->second;
    warmUp([&] {
      auto matrices = [&](int64_t rows, int64_t columns) {
        return shape.batches * rows * columns * int64_t(sizeof(float));
      };
      Scratch a(matrices(shape.m, shape.k)), b(matrices(shape.k, shape.n)),
          c(matrices(shape.m, shape.n)), bias(matrices(1, shape.n)),
          workspace(plan.workspaceBytes);
      for (const Scratch *each : {&a, &b, &c, &bias, &workspace})
        if (!each->isThere())
          return;
      plan.execute(cublasLt(), nullptr, c.data(), a.data(), b.data(),
                   bias.data(), workspace.data());
      check(cudaDeviceSynchronize(), "running it for the first time");
    });
  }
  return at->second;
}

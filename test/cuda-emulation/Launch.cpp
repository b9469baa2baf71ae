//===- Launch.cpp - CUDA's functions of kernels ---------------------------===//
//
// A kernel is loaded on a device when it is first asked for or launched there,
// which must not happen while a stream captures: CUDA may have to wait for the
// device then. LWCC_EMULATION_KERNELS names a file to which the names of the
// kernels that ran are appended; where it is "-", a program that begins prints
// the names of all kernels that it has, as "kernel NAME".
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "Symbols.h"

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace lwcc;
using namespace lwcc::emulation;

namespace {
struct Known {
  BindKernel bind;
  std::string name;
  bool hasRun = false;
};
} // namespace

static std::map<const void *, Known> &knownKernels() {
  static std::map<const void *, Known> known;
  return known;
}

void emulation::knowKernel(const void *kernel, BindKernel bind) {
  auto [at, isNew] = knownKernels().try_emplace(kernel);
  if (!isNew)
    return;
  at->second.bind = bind;
  auto named = kernels().find(kernel);
  at->second.name = named == kernels().end() ? "a kernel" : named->second;
}

[[maybe_unused]] static const bool areListed = [] {
  const char *path = std::getenv("LWCC_EMULATION_KERNELS");
  if (path && std::string(path) == "-")
    for (const auto &[address, name] : kernels())
      std::printf("kernel %s\n", name.c_str());
  return true;
}();

static void noteRun(Known &kernel) {
  if (std::exchange(kernel.hasRun, true))
    return;
  const char *path = std::getenv("LWCC_EMULATION_KERNELS");
  if (FILE *file = path && *path ? std::fopen(path, "a") : nullptr) {
    std::fprintf(file, "%s\n", kernel.name.c_str());
    std::fclose(file);
  }
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                  const void *kernel) {
  World &w = world();
  if (!knownKernels().count(kernel))
    return w.answer(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = Grid::maxThreads;
  w.loadedKernels.insert({w.current, kernel});
  return cudaSuccess;
}

static bool isLegal(dim3 grid, dim3 block) {
  return grid.x && grid.y && grid.z && block.x && block.y && block.z &&
         grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535 &&
         block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         block.x * block.y * block.z <= Grid::maxThreads;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                             void **arguments, size_t sharedBytes,
                             cudaStream_t on) {
  World &w = world();
  w.elapse();
  Stream &stream = streamOf(on);
  auto known = knownKernels().find(kernel);
  if (known == knownKernels().end())
    return w.answer(cudaErrorInvalidDeviceFunction);
  if (stream.device != w.current || stream.isDestroyed)
    return w.answer(cudaErrorInvalidResourceHandle);
  if (!isLegal(grid, block) || sharedBytes)
    return w.answer(cudaErrorInvalidConfiguration);
  Known &found = known->second;
  if (w.loadedKernels.insert({stream.device, kernel}).second && stream.capture)
    fault(found.name + ": captured before it was loaded");
  Item item;
  item.name = found.name.c_str();
  item.device = stream.device;
  item.run = [bound =
                  std::shared_ptr<BoundKernel>(found.bind(kernel, arguments)),
              grid, block, &found] {
    noteRun(found);
    Grid(*bound, grid, block).run();
  };
  return w.answer(w.push(stream, std::move(item)));
}

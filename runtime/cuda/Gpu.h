//===- Gpu.h - Finding the machine's GPUs and their libraries ---*- C++ -*-===//
//
// A Gpu is a physical device with its cuDNN and cuBLASLt handles and the plans
// that were built on it. Logical devices (those of the program) are mapped to
// physical ones here, by LWCC_DEVICES, so that a plan for four devices runs on
// one. Everything that can be wrong with a machine becomes a message here: no
// driver, an old one, no GPU, too few of them, another architecture.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_GPU_H
#define LWCC_RUNTIME_CUDA_GPU_H

#include "runtime/core/Ops.h"
#include "runtime/core/Ranks.h"
#include "runtime/cuda/Check.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

struct cudnnContext;
struct cublasLtContext;

namespace lwcc::rt::cuda {

struct ConvShape;
class ConvPlan;
struct GemmShape;
struct GemmPlan;

class Gpu {
public:
  /// Makes the device's context. Throws if the program holds no code for it.
  explicit Gpu(int id);
  ~Gpu();
  Gpu(const Gpu &) = delete;

  int id = 0;
  std::string name; ///< "NVIDIA H200"
  int arch = 0;     ///< 90 for sm_90
  int processors = 1;

  /// Makes this the calling thread's device.
  void use() const;
  int64_t bytesFree() const;

  /// Made when they are first needed: a program without convolutions loads no
  /// cuDNN.
  cudnnContext *cudnn();
  cublasLtContext *cublasLt();
  /// Device memory that those two took when they started or loaded code.
  int64_t libraryBytes() const { return bytesOfLibraries; }

  /// The plan for a convolution, or null where cuDNN has none; chosen once, by
  /// running several on zeros. They are run even where there is nothing to
  /// choose: libraries load code when they first do something, which they must
  /// not while a graph is captured.
  const ConvPlan *planOf(const ConvShape &shape, std::string *reason = nullptr);
  const GemmPlan &planOf(const GemmShape &shape);

private:
  /// `first` does something with a library for the first time.
  void warmUp(const std::function<void()> &first);

  struct Plans;
  std::unique_ptr<Plans> plans;
  cudnnContext *dnn = nullptr;
  cublasLtContext *blas = nullptr;
  int64_t bytesOfLibraries = 0;
};

/// What LWCC_DEVICES says: the physical device of each logical one. `text` is
/// its value or null; the default is 0, 1, 2, ... Throws Error for anything but
/// a list of numbers below `present` that is long enough.
std::vector<int> physicalDevices(const char *text, int logical, int present);

/// The same for one of several ranks, by device of the program; -1 for those of
/// other ranks. LWCC_DEVICES (`text`) names a GPU for each device of the
/// program, or for each of this rank's. By default ranks of one machine take
/// its GPUs in turn; where CUDA_VISIBLE_DEVICES (`visible`) leaves fewer, each
/// its own from 0 on.
std::vector<int> physicalDevicesOfRank(const char *text, const Ranks &ranks,
                                       int present, const char *visible);

/// Whether sequences become CUDA graphs. With `ifPossible`, a sequence that
/// cannot become one runs without; with `always` that is an error.
enum class GraphUse { never, ifPossible, always };

/// Reads the value of LWCC_GRAPH (null if it is not set): 0, 1 or empty. Throws
/// Error for anything else.
GraphUse graphUse(const char *text);

/// Whether the variable `name` is 1; `text` is its value or null. Throws Error
/// for anything but 0, 1 or nothing.
bool isSet(const char *name, const char *text);

/// How many GPUs there are, at least one; throws Error with both ways out.
int countGpus();

/// Architectures that this library holds code for: "sm_80, sm_90, sm_100".
std::string builtArchitectures();
/// Throws Error where the library holds no code for the current device.
void requireCodeFor(const Gpu &gpu);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_GPU_H

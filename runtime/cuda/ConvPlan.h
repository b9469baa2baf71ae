//===- ConvPlan.h - How cuDNN will do one convolution -----------*- C++ -*-===//
//
// Builds cuDNN execution plans for convolutions: forward (plain or with bias),
// gradient of the input, gradient of the weights. The engine is the quickest of
// the first that cuDNN's heuristics (mode A, then its fallbacks) put forward,
// that keep the program's promise about precision and determinism, and that
// cuDNN accepts. Which one is the quickest may change from run to run, and with
// it the last bits: a deterministic plan is the first one.
//
// A ReLU is no part of a graph: the engines that promise to keep a NaN in it
// are a hundred times slower than the others (H100, cuDNN 9.19).
//
// Building is apart from running and needs no GPU: a PlanTarget is either a
// handle on a real device or a description of one, so that cudnn-plan-check can
// test on any machine that cuDNN takes the graphs of a model.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_CONVPLAN_H
#define LWCC_RUNTIME_CUDA_CONVPLAN_H

#include "runtime/core/Ops.h"
#include "runtime/cuda/Cudnn.h"

#include <compare>
#include <functional>
#include <optional>
#include <string>

namespace lwcc::rt::cuda {

enum class ConvKind { forward, forwardBias, gradInput, gradWeight };
const char *nameOf(ConvKind kind);

/// Everything that a plan depends on; the key of the plan cache. Extents are
/// logical ([n, c, h, w]); the tensors lie channels-last and dense.
struct ConvShape {
  ConvKind kind = ConvKind::forward;
  Quad x = {}, w = {}, y = {};
  Quad pad = {}; ///< top, left, bottom, right
  Pair stride = {1, 1}, dilation = {1, 1};
  int64_t alignment = 16; ///< bytes, of every tensor's first element
  bool tf32 = false;
  bool deterministic = false;

  auto operator<=>(const ConvShape &) const = default;
  /// "forward x 8x3x224x224 w 64x3x7x7 y 8x64x112x112 ..."
  std::string describe() const;
};

/// The device that a plan is for.
class PlanTarget {
public:
  /// The device on which `handle` was made.
  explicit PlanTarget(cudnnHandle_t handle) : handle(handle) {}
  /// A described device, which need not exist here, as JSON (devices/*.json).
  static PlanTarget fromJson(const std::string &json);

  cudnnHandle_t handle = nullptr;
  Descriptor properties; ///< null where there is a handle
};

class ConvPlan {
public:
  int64_t workspaceBytes() const { return workspace; }
  /// As it was measured; 0 if it was not.
  double seconds() const { return measured; }
  /// Launches on the stream of `handle`. The three tensors are x, w and y of
  /// the shape or their gradients; bias is null where the kind has none.
  void execute(cudnnHandle_t handle, void *x, void *w, void *y, void *bias,
               void *workspace) const;

private:
  friend class ConvPlanner;
  Descriptor plan;
  int64_t workspace = 0;
  double measured = 0;
  bool hasBias = false;
};

/// Runs a plan and says how many seconds it takes; 0 if it could not be run.
/// Throws CudnnRefusal where the engine fails.
using TryOut = std::function<double(const ConvPlan &)>;

/// None where cuDNN has no engine for the shape; `reason`, if given, says why.
/// Without `tryOut` no plan is run, and the first one is taken.
std::optional<ConvPlan> buildConvPlan(const PlanTarget &target,
                                      const ConvShape &shape,
                                      std::string *reason = nullptr,
                                      const TryOut &tryOut = {});

class CudaLane;
/// Launches a plan on a lane's stream, with its workspace; nothing while
/// kernels are loaded. Throws Error.
void launchPlan(CudaLane &lane, const ConvPlan &plan, void *x, void *w, void *y,
                void *bias);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_CONVPLAN_H

//===- Onednn.h - Running one oneDNN primitive ------------------*- C++ -*-===//
//
// A oneDNN primitive with its operands bound to tensors. Tensors keep their
// plain layout; where the primitive wants another one, the operand is reordered
// into the lane's workspace before the primitive, or out of it after. The
// primitive's scratchpad lies in the same workspace, so that an operator holds
// no memory of its own.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_ONEDNN_H
#define LWCC_RUNTIME_CPU_ONEDNN_H

#include "runtime/core/Tensor.h"
#include "runtime/cpu/Lane.h"

#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lwcc::rt {

/// The process's CPU: oneDNN's engine has no state of ours.
const dnnl::engine &cpuEngine();

/// "oneDNN 3.2.0, AVX-512".
std::string describeOnednn();

/// Plain strided description of a tensor.
dnnl::memory::desc plainDesc(const Tensor &t);

/// Attributes that every primitive here has: its scratchpad is ours.
dnnl::primitive_attr userScratchpad();

/// Reorders of the inputs, a primitive, reorders of the outputs. Build it while
/// recording, then append `run` to the lane.
class OnednnCall {
public:
  OnednnCall(CpuLane &lane, const dnnl::primitive_desc_base &pd,
             dnnl::primitive primitive);

  /// Binds an argument to a tensor that lies as `plain`; the primitive wants
  /// `wanted`.
  void input(int argument, const Tensor &t, const dnnl::memory::desc &plain,
             const dnnl::memory::desc &wanted);
  void output(int argument, const Tensor &t, const dnnl::memory::desc &plain,
              const dnnl::memory::desc &wanted);

  /// After the last operand: asks for the workspace.
  void finish();
  void run();

private:
  struct Reorder {
    dnnl::reorder primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  /// Memory in the workspace, its address set when the call runs.
  struct Placed {
    dnnl::memory memory;
    int64_t offset;
  };
  dnnl::memory place(const dnnl::memory::desc &desc);
  void bind(int argument, const Tensor &t, const dnnl::memory::desc &plain,
            const dnnl::memory::desc &wanted, bool isInput);

  CpuLane &lane;
  dnnl::primitive primitive;
  dnnl::stream stream;
  std::unordered_map<int, dnnl::memory> arguments;
  std::vector<Reorder> before, after;
  std::vector<Placed> placed;
  int64_t workspace = 0; ///< bytes placed so far
  dnnl::memory::desc scratchpad;
  int64_t scratchpadBytes = 0;
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_ONEDNN_H

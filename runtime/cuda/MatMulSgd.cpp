//===- MatMulSgd.cpp - Backward pass and update of a matrix product -------===//
//
// Two products and an update: compilers for GPUs keep them apart (see
// train-fuse-updates), but a program that was made for a CPU runs as well.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GemmPlan.h"
#include "runtime/cuda/Sgd.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

void rt::matmul_sgd(Lane &base, Tensor w_new, Tensor m_new, Tensor dx, Tensor w,
                    Tensor m, Tensor scalars, Tensor loss, Tensor dy, Tensor x,
                    const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updates in place");
  CudaLane &lane = cudaLane(base);
  auto planOf = [&](int64_t rows, int64_t terms, bool transposed,
                    const Tensors &operands) {
    GemmShape shape;
    for (const Tensor &t : operands)
      shape.alignment = std::min(shape.alignment, alignmentOf(t.data));
    shape.m = rows;
    shape.n = w.dim[1];
    shape.k = terms;
    shape.transposeA = transposed;
    shape.tf32 = lane.machine.usesTf32();
    return &lane.gpu.planOf(shape);
  };
  const GemmPlan *input =
      dx ? planOf(x.dim[0], w.dim[0], false, {dx, dy, w}) : nullptr;
  const GemmPlan *weight = planOf(w.dim[0], x.dim[0], true, {dy, x});
  const int64_t gradient = (w.bytes() + 255) / 256 * 256;
  const int64_t scratch =
      std::max(input ? input->workspaceBytes : 0, weight->workspaceBytes);
  lane.append(
      "matmul_sgd", {w_new, m_new, dx},
      [=, &lane] {
        Tensor g(lane.workspace(), w.type, w.dim.data(), w.rank, Layout::dense);
        auto multiply = [&](const GemmPlan &plan, const Tensor &c,
                            const Tensor &b) {
          if (lane.isRunning())
            plan.execute(lane.gpu.cublasLt(), lane.stream, c.as<float>(),
                         dy.as<const float>(), b.as<const float>(), nullptr,
                         lane.workspace() + gradient);
        };
        if (input)
          multiply(*input, dx, w);
        multiply(*weight, g, x);
        launchSgd(lane, w, m, scalars, loss, {g}, params);
      },
      gradient + scratch);
}

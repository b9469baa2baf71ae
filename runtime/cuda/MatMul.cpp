//===- MatMul.cpp - Matrix products on cuBLASLt ---------------------------===//
//
// Decides how a product of tensors becomes one (batched) product of matrices. A
// rank-4 operand lies channels-last and is first copied to row-major order in
// the lane's workspace; such products are rare (attention over images). The
// bias is cuBLASLt's, the ReLU a kernel of ours: of its epilogue nobody says
// that it keeps NaN.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ConvBias.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/GemmPlan.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// An operand, or its row-major copy at `offset` in the workspace.
struct Operand {
  Tensor tensor;
  int64_t offset = -1;

  Tensor rowMajor(const CudaLane &lane) const {
    if (offset < 0)
      return tensor;
    return Tensor(lane.workspace() + offset, tensor.type, tensor.dim.data(),
                  tensor.rank, Layout::dense);
  }
};

} // namespace

static bool isRowMajor(const Tensor &t) {
  int64_t next = 1;
  for (int d = t.rank - 1; d >= 0; --d) {
    if (t.dim[d] != 1 && t.stride[d] != next)
      return false;
    next *= t.dim[d];
  }
  return true;
}

static Operand operandOf(const Tensor &t, int64_t &workspace) {
  if (isRowMajor(t))
    return {t};
  Operand copy{t, workspace};
  workspace += (t.bytes() + 255) / 256 * 256;
  return copy;
}

static int64_t alignmentOf(const Operand &operand, int64_t elementsBetween) {
  // Copies are aligned; so are the batches if their distance is.
  const void *first = operand.offset < 0 ? operand.tensor.data : nullptr;
  return alignmentOf(first, elementsBetween);
}

void rt::matmul(Lane &base, Tensor c, Tensor a, Tensor b, Tensor bias,
                const MatMulParams &params) {
  CudaLane &lane = cudaLane(base);
  assert(a.rank >= 2 && b.rank >= 2 && c.rank == a.rank);
  int64_t workspace = 0;
  Operand first = operandOf(a, workspace), second = operandOf(b, workspace),
          result = operandOf(c, workspace);

  GemmShape shape;
  shape.m = c.dim[c.rank - 2];
  shape.n = c.dim[c.rank - 1];
  shape.k = a.dim[a.rank - (params.transpose_a ? 2 : 1)];
  for (int d = 0; d < c.rank - 2; ++d)
    shape.batches *= c.dim[d];
  shape.transposeA = params.transpose_a;
  shape.transposeB = params.transpose_b;
  shape.bias = static_cast<bool>(bias);
  shape.tf32 = lane.machine.usesTf32();
  const bool shared = b.rank == 2 && shape.batches > 1;
  if (shared && !params.transpose_a) {
    // One b for all batches of rows: the batches are rows of one matrix.
    shape.m *= shape.batches;
    shape.batches = 1;
  }
  if (shape.batches > 1) {
    shape.strideA = shape.m * shape.k;
    shape.strideB = shared ? 0 : shape.k * shape.n;
    shape.strideC = shape.m * shape.n;
  }
  shape.alignment = std::min(
      {alignmentOf(first, shape.strideA), alignmentOf(second, shape.strideB),
       alignmentOf(result, shape.strideC), alignmentOf(bias.data)});

  const GemmPlan &plan = lane.gpu.planOf(shape);
  lane.append(
      "matmul", {c},
      [=, &lane, &plan, relu = params.relu] {
        Tensor ca = first.rowMajor(lane), cb = second.rowMajor(lane),
               cc = result.rowMajor(lane);
        if (first.offset >= 0)
          launchCopy(lane, ca, a);
        if (second.offset >= 0)
          launchCopy(lane, cb, b);
        if (lane.isRunning())
          plan.execute(lane.gpu.cublasLt(), lane.stream, cc.as<float>(),
                       ca.as<const float>(), cb.as<const float>(),
                       bias.as<const float>(), lane.workspace() + workspace);
        launchBiasRelu(lane, cc, {}, relu);
        if (result.offset >= 0)
          launchCopy(lane, c, cc);
      },
      workspace + plan.workspaceBytes);
}

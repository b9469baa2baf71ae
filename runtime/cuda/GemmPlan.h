//===- GemmPlan.h - How cuBLASLt will do one matrix product -----*- C++ -*-===//
//
// A row-major product c = op(a) op(b) + bias is handed to cuBLASLt, which is
// column-major, as c^T = op(b)^T op(a)^T: the same memory with the operands
// swapped. The bias of n elements then lies along cuBLASLt's rows, which is
// what its epilogues add. The algorithm is the first of its heuristics without
// atomic accumulation, so that a product is the same bits from run to run.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_GEMMPLAN_H
#define LWCC_RUNTIME_CUDA_GEMMPLAN_H

#include <compare>
#include <cstdint>
#include <memory>

#include <cublasLt.h>

namespace lwcc::rt::cuda {

/// Everything that the choice of an algorithm depends on.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batches = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0; ///< elements between batches
  bool transposeA = false, transposeB = false;
  bool bias = false;
  bool tf32 = false;
  int64_t alignment = 16; ///< bytes, of every operand's first element

  auto operator<=>(const GemmShape &) const = default;
};

/// The alignment to promise of matrices of floats that begin at `first`, so
/// many elements apart: at most 16 bytes, which null stands for.
inline int64_t alignmentOf(const void *first, int64_t elementsBetween = 0) {
  const uint64_t bits = reinterpret_cast<uintptr_t>(first) |
                        static_cast<uint64_t>(elementsBetween) * sizeof(float) |
                        16;
  return static_cast<int64_t>(bits & -bits);
}

struct GemmDescriptors;

struct GemmPlan {
  std::shared_ptr<GemmDescriptors> descriptors;
  cublasLtMatmulAlgo_t algorithm = {};
  int64_t workspaceBytes = 0;
  bool hasBias = false;

  void execute(cublasLtHandle_t handle, cudaStream_t stream, float *c,
               const float *a, const float *b, const float *bias,
               void *workspace) const;
};

/// Throws Error where cuBLASLt has no algorithm.
GemmPlan buildGemmPlan(cublasLtHandle_t handle, const GemmShape &shape);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_GEMMPLAN_H

//===- GemmPlan.cpp - How cuBLASLt will do one matrix product -------------===//

#include "runtime/cuda/GemmPlan.h"
#include "runtime/core/Error.h"

#include <array>
#include <string>
#include <type_traits>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

/// What an algorithm may ask for; NVIDIA's advice for Hopper and newer.
static constexpr size_t workspaceLimit = size_t(32) << 20;

struct cuda::GemmDescriptors {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  ~GemmDescriptors() {
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout)
        cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      cublasLtMatmulDescDestroy(operation);
  }
};

static void check(cublasStatus_t status, const GemmShape *shape = nullptr) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return;
  std::string what = "matrix product";
  if (shape)
    what += " of " + std::to_string(shape->m) + "x" + std::to_string(shape->k) +
            " and " + std::to_string(shape->k) + "x" + std::to_string(shape->n);
  throw Error("GPU: " + what +
              ": cuBLASLt: " + cublasLtGetStatusString(status));
}

template <typename T>
static void set(cublasLtMatmulDesc_t descriptor,
                cublasLtMatmulDescAttributes_t name, T value) {
  check(
      cublasLtMatmulDescSetAttribute(descriptor, name, &value, sizeof(value)));
}

/// The column-major layout of a row-major rows x columns matrix.
static cublasLtMatrixLayout_t layoutOf(int64_t rows, int64_t columns,
                                       int64_t batches, int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F,
                                   static_cast<uint64_t>(columns),
                                   static_cast<uint64_t>(rows), columns));
  auto count = static_cast<int32_t>(batches);
  if (batches > 1) {
    check(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    check(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
        sizeof(stride)));
  }
  return layout;
}

static cublasLtMatmulAlgo_t chooseAlgorithm(cublasLtHandle_t handle,
                                            const GemmDescriptors &d,
                                            const GemmShape &shape,
                                            int64_t &workspaceBytes) {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw));
  std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                  decltype(&cublasLtMatmulPreferenceDestroy)>
      preference(raw, cublasLtMatmulPreferenceDestroy);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
    check(
        cublasLtMatmulPreferenceSetAttribute(raw, name, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceLimit);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t(CUBLASLT_REDUCTION_SCHEME_NONE |
                  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  auto alignment = static_cast<uint32_t>(shape.alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);

  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, d.operation, d.a, d.b, d.c, d.c,
                                       raw, 1, &result, &found),
        &shape);
  check(found ? result.state : CUBLAS_STATUS_NOT_SUPPORTED, &shape);
  workspaceBytes = static_cast<int64_t>(result.workspaceSize);
  return result.algo;
}

GemmPlan cuda::buildGemmPlan(cublasLtHandle_t handle, const GemmShape &shape) {
  auto d = std::make_shared<GemmDescriptors>();
  check(cublasLtMatmulDescCreate(&d->operation,
                                 shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F));
  auto flag = [](bool transpose) {
    return int32_t(transpose ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  // Swapped: cuBLASLt's first operand is our b.
  set(d->operation, CUBLASLT_MATMUL_DESC_TRANSA, flag(shape.transposeB));
  set(d->operation, CUBLASLT_MATMUL_DESC_TRANSB, flag(shape.transposeA));
  if (shape.bias) {
    set(d->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    // The choice of an algorithm may depend on where the bias lies, which is
    // said when the product is run: an address that is aligned alike.
    set(d->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void *>(shape.alignment));
  }
  auto [m, n, k] = std::array{shape.m, shape.n, shape.k};
  d->a = shape.transposeB ? layoutOf(n, k, shape.batches, shape.strideB)
                          : layoutOf(k, n, shape.batches, shape.strideB);
  d->b = shape.transposeA ? layoutOf(k, m, shape.batches, shape.strideA)
                          : layoutOf(m, k, shape.batches, shape.strideA);
  d->c = layoutOf(m, n, shape.batches, shape.strideC);

  GemmPlan plan;
  plan.algorithm = chooseAlgorithm(handle, *d, shape, plan.workspaceBytes);
  plan.descriptors = std::move(d);
  plan.hasBias = shape.bias;
  return plan;
}

void GemmPlan::execute(cublasLtHandle_t handle, cudaStream_t stream, float *c,
                       const float *a, const float *b, const float *bias,
                       void *workspace) const {
  const GemmDescriptors &d = *descriptors;
  if (hasBias)
    set(d.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1.0f, zero = 0.0f;
  check(cublasLtMatmul(handle, d.operation, &one, b, d.a, a, d.b, &zero, c, d.c,
                       c, d.c, &algorithm, workspace,
                       static_cast<size_t>(workspaceBytes), stream));
}

//===- TestProduct.h - One product by cuBLASLt's interface ------*- C++ -*-===//
//
// For tests: the descriptors of a product, right or wrong, and three loops that
// say what it should give.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_TESTPRODUCT_H
#define LWCC_TEST_CUDAEMULATION_TESTPRODUCT_H

#include "test/cuda-emulation/libraries/TestMemory.h"

#include <cmath>

#include <cublasLt.h>

namespace lwcc::emulation::test {

/// One product. Sizes are cuBLASLt's.
struct Product {
  int64_t m = 5, n = 7, k = 9, batches = 1;
  bool ta = false, tb = false;
  int64_t gap = 0;      ///< leading dimensions beyond the least
  int64_t distance = 0; ///< batches beyond the least
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment = 4;
  uint64_t maxWorkspace = 1 << 20;
  float alpha = 1, beta = 0;

  Product() {
    cublasLtCreate(&handle);
    cublasLtMatmulPreferenceCreate(&preference);
  }
  Product(const Product &) = delete;
  ~Product() {
    for (cublasLtMatrixLayout_t layout : layouts)
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
  }

  int64_t rows(int i) const {
    return i == 0 ? (ta ? k : m) : i == 1 ? (tb ? n : k) : m;
  }
  int64_t columns(int i) const {
    return i == 0 ? (ta ? m : k) : i == 1 ? (tb ? k : n) : n;
  }
  int64_t ld(int i) const { return rows(i) + gap; }
  int64_t stride(int i) const { return ld(i) * columns(i) + distance; }
  /// Elements of A, B, C or D.
  size_t size(int i) const {
    return static_cast<size_t>(stride(i) * (batches - 1) +
                               ld(i) * (columns(i) - 1) + rows(i));
  }

  void describe() {
    cublasLtMatmulDescCreate(&desc, compute, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(ta ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(tb ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    for (int i = 0; i < 3; ++i) {
      cublasLtMatrixLayoutCreate(&layouts[i], CUDA_R_32F,
                                 static_cast<uint64_t>(rows(i)),
                                 static_cast<uint64_t>(columns(i)), ld(i));
      auto count = static_cast<int32_t>(batches);
      int64_t between = stride(i);
      cublasLtMatrixLayoutSetAttribute(layouts[i],
                                       CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                       &count, sizeof(count));
      cublasLtMatrixLayoutSetAttribute(
          layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &between,
          sizeof(between));
    }
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
      cublasLtMatmulPreferenceSetAttribute(preference, name, &value,
                                           sizeof(value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, maxWorkspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    for (auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(name, alignment);
  }

  template <typename T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t name, T value) {
    return cublasLtMatmulDescSetAttribute(desc, name, &value, sizeof(value));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> algorithms() {
    cublasLtMatmulHeuristicResult_t results[20];
    int count = 0;
    status = cublasLtMatmulAlgoGetHeuristic(handle, desc, layouts[0],
                                            layouts[1], layouts[2], layouts[2],
                                            preference, 20, results, &count);
    return {results, results + count};
  }

  cublasStatus_t multiply(const cublasLtMatmulHeuristicResult_t &how,
                          const float *a, const float *b, float *d,
                          void *workspace, size_t bytes) {
    return cublasLtMatmul(handle, desc, &alpha, a, layouts[0], b, layouts[1],
                          &beta, d, layouts[2], d, layouts[2], &how.algo,
                          workspace, bytes, nullptr);
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t layouts[3] = {}; ///< of A, B, and of C and D
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};

/// Three loops. What lies between the columns of D stays.
inline std::vector<double> expected(const Product &p, const Floats &a,
                                    const Floats &b, const Floats &before,
                                    const Floats &bias) {
  std::vector<double> d(before.begin(), before.end());
  for (int64_t batch = 0; batch < p.batches; ++batch)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += double(a[static_cast<size_t>(
                     batch * p.stride(0) +
                     (p.ta ? l + i * p.ld(0) : i + l * p.ld(0)))]) *
                 double(b[static_cast<size_t>(
                     batch * p.stride(1) +
                     (p.tb ? j + l * p.ld(1) : l + j * p.ld(1)))]);
        double &to =
            d[static_cast<size_t>(batch * p.stride(2) + i + j * p.ld(2))];
        to = double(p.alpha) * sum + (p.beta == 0 ? 0 : double(p.beta) * to);
        if (p.epilogue & CUBLASLT_EPILOGUE_BIAS)
          to += double(bias[static_cast<size_t>(i)]);
        if (p.epilogue & CUBLASLT_EPILOGUE_RELU)
          to = std::fmax(to, 0.0);
      }
  return d;
}

} // namespace lwcc::emulation::test

#endif // LWCC_TEST_CUDAEMULATION_TESTPRODUCT_H

//===- CublasLt.h - cuBLASLt's descriptors, as the host sees them *- C++
//-*-===//
//
// What is behind cublasLt.h's opaque pointers, and the one product that they
// describe together. CublasLt.cpp sets and reads the descriptors,
// CublasLtHeuristic.cpp says which products are legal and which algorithms
// there are, CublasLtMatmul.cpp multiplies.
//
// Column-major matrices of floats only; whatever else cuBLASLt can do is
// CUBLAS_STATUS_NOT_SUPPORTED here.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CUBLASLT_H
#define LWCC_TEST_CUDAEMULATION_CUBLASLT_H

#include <array>
#include <cstdint>
#include <vector>

#include <cublasLt.h>

namespace lwcc::emulation::blas {

/// cublasLtMatrixLayout_t; the defaults are the header's.
struct MatrixLayout {
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int32_t batches = 1;
  int64_t batchStride = 0;
  int64_t planeOffset = 0;
  uint32_t batchMode = CUBLASLT_BATCH_MODE_STRIDED;

  bool operator==(const MatrixLayout &) const = default;
};

/// cublasLtMatmulDesc_t.
struct MatmulDesc {
  int32_t computeType = CUBLAS_COMPUTE_32F;
  int32_t scaleType = CUDA_R_32F;
  int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N, transC = CUBLAS_OP_N;
  int32_t fillMode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr;
  int32_t biasType = -1;
  int64_t biasBatchStride = 0;
  int32_t processors = 0;
};

/// cublasLtMatmulPreference_t.
struct MatmulPreference {
  uint32_t searchMode = CUBLASLT_SEARCH_BEST_FIT;
  uint64_t maxWorkspace = 0;
  uint32_t reductionSchemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<uint32_t, 4> alignment = {256, 256, 256, 256}; ///< A, B, C, D
  float maxWaves = 0;
  uint64_t implementations = ~uint64_t(0);
};

/// One call's descriptors. Sizes are cuBLASLt's: D is m x n.
struct Product {
  MatmulDesc desc;
  MatrixLayout a, b, c, d;
  int64_t m = 0, n = 0, k = 0;

  bool has(uint32_t epilogue) const { return desc.epilogue & epilogue; }
};

/// The product of four layouts, or why there is none.
cublasStatus_t makeProduct(const MatmulDesc &desc, const MatrixLayout &a,
                           const MatrixLayout &b, const MatrixLayout &c,
                           const MatrixLayout &d, Product &product);

/// What a cublasLtMatmulAlgo_t holds.
struct Algorithm {
  uint32_t id = 0;
  uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  bool roundsToTf32 = false;
  uint64_t workspace = 0;
  /// The least alignments that were promised when it was chosen: of A, B, C, D
  /// and the bias.
  std::array<uint16_t, 5> promised = {};
  uint64_t product = 0; ///< the hash of what it was chosen for

  cublasLtMatmulAlgo_t pack() const;
  /// False where `from` was not made by pack().
  bool unpack(const cublasLtMatmulAlgo_t &from);
};

uint64_t hashOf(const Product &product);

/// What the preference leaves, the best first.
std::vector<Algorithm> algorithmsFor(const Product &product,
                                     const MatmulPreference &preference);

} // namespace lwcc::emulation::blas

/// What cublasLtHandle_t points to.
struct cublasLtContext {
  int device = 0;
};

#endif // LWCC_TEST_CUDAEMULATION_CUBLASLT_H

//===- CublasLtHeuristic.cpp - Legal products, and ways to compute them ---===//
//
// Decides which products cuBLASLt takes, as far as its header says, and offers
// algorithms that differ in what a caller may trip over: how much workspace
// they need, which alignment they were promised, whether their sums are in a
// fixed order, and whether they round to TF32. Which one comes first is drawn
// from the seed.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/CublasLt.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <algorithm>
#include <bit>

using namespace lwcc::emulation;
using namespace lwcc::emulation::blas;

static cublasStatus_t check(const MatrixLayout &layout) {
  if (layout.rows == 0 || layout.columns == 0 || layout.batches < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (layout.type != CUDA_R_32F || layout.order != CUBLASLT_ORDER_COL ||
      layout.batchMode != CUBLASLT_BATCH_MODE_STRIDED ||
      layout.planeOffset != 0)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  // Columns must not overlap.
  if (layout.ld < static_cast<int64_t>(layout.rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

static bool isSupported(const MatmulDesc &desc) {
  bool computes = desc.computeType == CUBLAS_COMPUTE_32F ||
                  desc.computeType == CUBLAS_COMPUTE_32F_PEDANTIC ||
                  desc.computeType == CUBLAS_COMPUTE_32F_FAST_TF32;
  bool transposes =
      (desc.transA == CUBLAS_OP_N || desc.transA == CUBLAS_OP_T) &&
      (desc.transB == CUBLAS_OP_N || desc.transB == CUBLAS_OP_T) &&
      desc.transC == CUBLAS_OP_N;
  bool pointers = desc.pointerMode == CUBLASLT_POINTER_MODE_HOST ||
                  desc.pointerMode == CUBLASLT_POINTER_MODE_DEVICE;
  bool types = desc.scaleType == CUDA_R_32F &&
               (desc.biasType == -1 || desc.biasType == CUDA_R_32F);
  switch (desc.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
  case CUBLASLT_EPILOGUE_RELU:
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_RELU_BIAS:
  case CUBLASLT_EPILOGUE_BGRADA:
  case CUBLASLT_EPILOGUE_BGRADB:
    return computes && transposes && pointers && types &&
           desc.fillMode == CUBLAS_FILL_MODE_FULL;
  default:
    return false;
  }
}

cublasStatus_t lwcc::emulation::blas::makeProduct(
    const MatmulDesc &desc, const MatrixLayout &a, const MatrixLayout &b,
    const MatrixLayout &c, const MatrixLayout &d, Product &product) {
  for (const MatrixLayout *layout : {&a, &b, &c, &d})
    if (cublasStatus_t status = check(*layout))
      return status;
  if (!isSupported(desc))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool ta = desc.transA == CUBLAS_OP_T, tb = desc.transB == CUBLAS_OP_T;
  uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns,
           n = tb ? b.rows : b.columns;
  if ((tb ? b.columns : b.rows) != k || d.rows != m || d.columns != n ||
      c.rows != m || c.columns != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (a.batches != d.batches || b.batches != d.batches ||
      c.batches != d.batches)
    return CUBLAS_STATUS_INVALID_VALUE;
  // Results of several batches must not overlap.
  if (d.batches > 1 && d.batchStride < d.ld * static_cast<int64_t>(n - 1) +
                                           static_cast<int64_t>(m))
    return CUBLAS_STATUS_INVALID_VALUE;
  product = {desc,
             a,
             b,
             c,
             d,
             static_cast<int64_t>(m),
             static_cast<int64_t>(n),
             static_cast<int64_t>(k)};
  return CUBLAS_STATUS_SUCCESS;
}

uint64_t lwcc::emulation::blas::hashOf(const Product &p) {
  uint64_t hash = drawOf({uint64_t(p.desc.computeType), uint64_t(p.desc.transA),
                          uint64_t(p.desc.transB), p.desc.epilogue,
                          uint64_t(p.desc.pointerMode)});
  for (const MatrixLayout *l : {&p.a, &p.b, &p.c, &p.d})
    hash = drawOf({hash, l->rows, l->columns, uint64_t(l->ld),
                   uint64_t(l->batches), uint64_t(l->batchStride)});
  return hash;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

static constexpr uint64_t algorithmMark = 0x6c77636367656d6d;

cublasLtMatmulAlgo_t Algorithm::pack() const {
  cublasLtMatmulAlgo_t to = {};
  to.data[0] = algorithmMark;
  to.data[1] = id | uint64_t(scheme) << 32 | uint64_t(roundsToTf32) << 63;
  to.data[2] = workspace;
  to.data[3] = product;
  for (size_t i = 0; i < promised.size(); ++i)
    to.data[4 + i / 4] |= uint64_t(promised[i]) << 16 * (i % 4);
  return to;
}

bool Algorithm::unpack(const cublasLtMatmulAlgo_t &from) {
  if (from.data[0] != algorithmMark)
    return false;
  id = static_cast<uint32_t>(from.data[1]);
  scheme = from.data[1] >> 32 & 0x7fffffff;
  roundsToTf32 = from.data[1] >> 63;
  workspace = from.data[2];
  product = from.data[3];
  for (size_t i = 0; i < promised.size(); ++i)
    promised[i] = static_cast<uint16_t>(from.data[4 + i / 4] >> 16 * (i % 4));
  return true;
}

namespace {
struct Kind {
  uint32_t scheme;
  bool tensorCore;     ///< may round to TF32, where that is allowed
  uint32_t alignment;  ///< that it needs of all operands, in bytes
  uint64_t parts;      ///< sums of parts of K in the workspace
  uint64_t semaphores; ///< further bytes of workspace
};
} // namespace

/// Their places in this list are their ids. The first takes everything.
static constexpr Kind kinds[] = {
    {CUBLASLT_REDUCTION_SCHEME_NONE, false, 4, 0, 0},
    {CUBLASLT_REDUCTION_SCHEME_NONE, true, 4, 0, 0},
    {CUBLASLT_REDUCTION_SCHEME_NONE, true, 16, 0, 4096},
    {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, false, 4, 2, 0},
    {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, true, 16, 3, 1024},
    {CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, false, 8, 2, 0},
    {CUBLASLT_REDUCTION_SCHEME_INPLACE, false, 4, 0, 0},
};

std::vector<Algorithm>
lwcc::emulation::blas::algorithmsFor(const Product &p,
                                     const MatmulPreference &preference) {
  std::vector<Algorithm> found;
  const uint64_t hash = hashOf(p);
  const bool mayRound = p.desc.computeType == CUBLAS_COMPUTE_32F_FAST_TF32;
  // A bias is aligned as the pointer is that the descriptor holds now.
  auto bias = reinterpret_cast<uintptr_t>(p.desc.bias);
  for (uint32_t id = 0; id < std::size(kinds); ++id) {
    const Kind &kind = kinds[id];
    Algorithm algorithm;
    algorithm.id = id;
    algorithm.scheme = kind.scheme;
    algorithm.roundsToTf32 = kind.tensorCore && mayRound;
    algorithm.product = hash;
    algorithm.workspace =
        kind.semaphores + kind.parts * sizeof(float) *
                              static_cast<uint64_t>(p.m * p.n * p.d.batches);
    uint32_t least = 256;
    for (size_t i = 0; i < 4; ++i) {
      least = std::min(least, preference.alignment[i]);
      algorithm.promised[i] = static_cast<uint16_t>(
          std::min<uint32_t>(preference.alignment[i], 256));
    }
    algorithm.promised[4] =
        static_cast<uint16_t>(bias ? std::min<uintptr_t>(bias & -bias, 16) : 0);
    bool allowed = kind.scheme == CUBLASLT_REDUCTION_SCHEME_NONE ||
                   (kind.scheme & preference.reductionSchemes);
    uint64_t needs = kind.tensorCore && mayRound
                         ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA
                         : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
    if (allowed && (preference.implementations & needs) &&
        algorithm.workspace <= preference.maxWorkspace &&
        least >= kind.alignment)
      found.push_back(algorithm);
  }
  std::sort(found.begin(), found.end(),
            [&](const Algorithm &a, const Algorithm &b) {
              return drawOf({hash, a.id}) < drawOf({hash, b.id});
            });
  return found;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t results[], int *returned) {
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !a || !b || !c || !d || !preference || requested <= 0 ||
      !results || !returned)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  auto layoutOf = [](cublasLtMatrixLayout_t layout) -> const MatrixLayout & {
    return *reinterpret_cast<const MatrixLayout *>(layout);
  };
  Product product;
  if (cublasStatus_t status =
          makeProduct(*reinterpret_cast<const MatmulDesc *>(desc), layoutOf(a),
                      layoutOf(b), layoutOf(c), layoutOf(d), product))
    return status;
  for (const Algorithm &algorithm : algorithmsFor(
           product, *reinterpret_cast<const MatmulPreference *>(preference))) {
    if (*returned == requested)
      break;
    cublasLtMatmulHeuristicResult_t &result = results[(*returned)++];
    result = {};
    result.algo = algorithm.pack();
    result.workspaceSize = algorithm.workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *returned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

//===- CublasLtMatmul.cpp - Products of matrices as plain loops -----------===//
//
// D = epilogue(alpha op(A) op(B) + beta C) by the layouts, the chosen algorithm
// and the promises under which it was chosen: a pointer that is less aligned,
// or another product, is reported. An algorithm scribbles over the workspace
// that it was told of, so one that is not there is found as any other stray
// write.
//
// Where cuBLASLt promises nothing, the worst is done: a ReLU turns NaN into 0,
// sums by atomics have no order.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/Emulation.h"
#include "test/cuda-emulation/libraries/CublasLt.h"
#include "test/cuda-emulation/libraries/Libraries.h"

#include <cmath>
#include <cstring>
#include <string>

using namespace lwcc::emulation;
using namespace lwcc::emulation::blas;

namespace {

/// Everything that a product needs when it runs, which may be long after the
/// call, and many times.
struct Job {
  Product product;
  Algorithm algorithm;
  const void *alpha, *beta; ///< device memory; null: the two values
  float alphaValue = 1, betaValue = 0;
  const float *a, *b, *c;
  float *d;
  void *workspace;
  size_t workspaceBytes; ///< that the caller says are there

  void run() const;

private:
  void multiply(int64_t batch, float alphaNow, float betaNow,
                std::vector<float> &result) const;
  void finish(int64_t batch, std::vector<float> &result) const;
  bool sumGradient(int64_t batch, bool ofA) const;
};

} // namespace

static Strided shapeOf(const MatrixLayout &layout) {
  return {{static_cast<int64_t>(layout.rows),
           static_cast<int64_t>(layout.columns), layout.batches},
          {1, layout.ld, layout.batches > 1 ? layout.batchStride : 0}};
}

/// The matrix of one batch without gaps: its first index is the outer one or
/// the inner one.
static std::vector<float> gather(const float *data, const MatrixLayout &layout,
                                 int64_t batch, bool firstIndexOuter,
                                 bool roundsToTf32) {
  auto rows = static_cast<int64_t>(layout.rows),
       columns = static_cast<int64_t>(layout.columns);
  data += batch * layout.batchStride;
  std::vector<float> dense(static_cast<size_t>(rows * columns));
  float *to = dense.data();
  if (firstIndexOuter)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        *to++ = data[i + j * layout.ld];
  else
    for (int64_t j = 0; j < columns; ++j, to += rows)
      std::memcpy(to, data + j * layout.ld,
                  static_cast<size_t>(rows) * sizeof(float));
  if (roundsToTf32)
    for (float &value : dense)
      value = roundToTf32(value);
  return dense;
}

/// result[j * m + i] = alpha * sum over l of A(i, l) B(l, j) + beta C(i, j).
void Job::multiply(int64_t batch, float alphaNow, float betaNow,
                   std::vector<float> &result) const {
  const Product &p = product;
  const auto m = static_cast<size_t>(p.m);
  // A by l, then i; B by j, then l.
  std::vector<float> left = gather(a, p.a, batch, p.desc.transA == CUBLAS_OP_T,
                                   algorithm.roundsToTf32);
  std::vector<float> right = gather(b, p.b, batch, p.desc.transB == CUBLAS_OP_T,
                                    algorithm.roundsToTf32);
  std::vector<float> part(m);
  std::vector<double> sum(m);
  for (int64_t j = 0; j < p.n; ++j) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int64_t from = 0; from < p.k; from += 64) {
      std::fill(part.begin(), part.end(), 0.0f);
      for (int64_t l = from; l < std::min(from + 64, p.k); ++l) {
        const float factor = right[static_cast<size_t>(j * p.k + l)];
        const float *__restrict column = &left[static_cast<size_t>(l * p.m)];
        float *__restrict to = part.data();
        for (size_t i = 0; i < m; ++i)
          to[i] += factor * column[i];
      }
      for (size_t i = 0; i < m; ++i)
        sum[i] += static_cast<double>(part[i]);
    }
    float *to = &result[static_cast<size_t>(j) * m];
    const float *old =
        betaNow == 0 ? nullptr : c + batch * p.c.batchStride + j * p.c.ld;
    for (size_t i = 0; i < m; ++i) {
      // A factor of 0 reads nothing, not even a NaN.
      double value = alphaNow == 0 ? 0 : static_cast<double>(alphaNow) * sum[i];
      if (old)
        value += static_cast<double>(betaNow) * static_cast<double>(old[i]);
      to[i] = static_cast<float>(value);
    }
  }
  if (algorithm.scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE)
    jitter(result.data(), result.size());
}

void Job::finish(int64_t batch, std::vector<float> &result) const {
  const Product &p = product;
  const auto *bias = static_cast<const float *>(p.desc.bias);
  for (size_t at = 0; at < result.size(); ++at) {
    if (p.has(CUBLASLT_EPILOGUE_BIAS))
      result[at] +=
          bias[batch * p.desc.biasBatchStride + static_cast<int64_t>(at) % p.m];
    if (p.has(CUBLASLT_EPILOGUE_RELU))
      result[at] = std::fmax(result[at], 0.0f);
  }
}

/// The sum of op(A) along its columns, or of op(B) along its rows, to where the
/// descriptor's bias points.
bool Job::sumGradient(int64_t batch, bool ofA) const {
  const Product &p = product;
  // op(A) by l, then i; op(B) by l, then j.
  const MatrixLayout &layout = ofA ? p.a : p.b;
  bool outer =
      ofA ? p.desc.transA == CUBLAS_OP_T : p.desc.transB == CUBLAS_OP_N;
  std::vector<float> terms = gather(ofA ? a : b, layout, batch, outer, false);
  const int64_t length = ofA ? p.m : p.n;
  std::vector<double> sums(static_cast<size_t>(length));
  for (size_t at = 0; at < terms.size(); ++at)
    sums[at % sums.size()] += static_cast<double>(terms[at]);
  float *to =
      static_cast<float *>(p.desc.bias) + batch * p.desc.biasBatchStride;
  if (!writeAll(to, {{length}, {1}}))
    return false;
  for (double sum : sums)
    *to++ = static_cast<float>(sum);
  return true;
}

void Job::run() const {
  const Product &p = product;
  const int64_t batches = p.d.batches;
  if (workspace && !scribble(workspace, workspaceBytes))
    return;
  float alphaNow = alphaValue, betaNow = betaValue;
  for (auto [from, to] : {std::pair(alpha, &alphaNow), {beta, &betaNow}})
    if (from) {
      if (!read(from, sizeof(float)))
        return;
      std::memcpy(to, from, sizeof(float));
    }
  if (!readAll(a, shapeOf(p.a)) || !readAll(b, shapeOf(p.b)) ||
      (betaNow != 0 && !readAll(c, shapeOf(p.c))))
    return;
  if (p.has(CUBLASLT_EPILOGUE_BIAS) &&
      !readAll(static_cast<const float *>(p.desc.bias),
               {{p.m, p.desc.biasBatchStride ? batches : 1},
                {1, p.desc.biasBatchStride}}))
    return;
  std::vector<float> result(static_cast<size_t>(p.m * p.n));
  for (int64_t batch = 0; batch < batches; ++batch) {
    multiply(batch, alphaNow, betaNow, result);
    finish(batch, result);
    for (uint32_t epilogue :
         {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB})
      if (p.has(epilogue) &&
          !sumGradient(batch, epilogue == CUBLASLT_EPILOGUE_BGRADA))
        return;
    float *to = d + batch * p.d.batchStride;
    if (!writeAll(to, {{p.m, p.n}, {1, p.d.ld}}))
      return;
    for (int64_t j = 0; j < p.n; ++j)
      std::memcpy(to + j * p.d.ld, &result[static_cast<size_t>(j * p.m)],
                  static_cast<size_t>(p.m) * sizeof(float));
  }
  // To the last: so it must not lie over the result either.
  if (workspace)
    scribble(workspace, workspaceBytes);
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

static bool isAligned(const void *pointer, uint64_t bytes) {
  return bytes == 0 || reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

/// Reports what breaks a promise that was made to the heuristic.
static void checkPromises(const Job &job) {
  const char *names[] = {"A", "B", "C", "D", "the bias"};
  const void *pointers[] = {job.a, job.b, job.c, job.d,
                            job.product.desc.epilogue ==
                                    CUBLASLT_EPILOGUE_DEFAULT
                                ? nullptr
                                : job.product.desc.bias};
  for (size_t i = 0; i < std::size(names); ++i)
    if (!isAligned(pointers[i], job.algorithm.promised[i]))
      fault(std::string("cublasLtMatmul: ") + names[i] +
            " is less aligned than the heuristic was told (" +
            std::to_string(job.algorithm.promised[i]) + " bytes)");
  // The documentation of cublasLtMatmul() asks for 256 bytes.
  if (job.algorithm.workspace && !isAligned(job.workspace, 256))
    fault("cublasLtMatmul: the workspace is not aligned to 256 bytes");
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aDesc,
               const void *b, cublasLtMatrixLayout_t bDesc, const void *beta,
               const void *c, cublasLtMatrixLayout_t cDesc, void *d,
               cublasLtMatrixLayout_t dDesc,
               const cublasLtMatmulAlgo_t *algorithm, void *workspace,
               size_t workspaceBytes, cudaStream_t stream) {
  if (!handle)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !alpha || !beta || !a || !b || !c || !d || !aDesc || !bDesc ||
      !cDesc || !dDesc)
    return CUBLAS_STATUS_INVALID_VALUE;
  auto layoutOf = [](cublasLtMatrixLayout_t layout) -> const MatrixLayout & {
    return *reinterpret_cast<const MatrixLayout *>(layout);
  };
  Job job = {};
  if (cublasStatus_t status = makeProduct(
          *reinterpret_cast<const MatmulDesc *>(desc), layoutOf(aDesc),
          layoutOf(bDesc), layoutOf(cDesc), layoutOf(dDesc), job.product))
    return status;
  const MatmulDesc &how = job.product.desc;
  if (how.epilogue &
          ~uint32_t(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU) &&
      !how.bias)
    return CUBLAS_STATUS_INVALID_VALUE;
  // In place means the same elements in the same order.
  if (c == d && !(job.product.c == job.product.d))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!algorithm) {
    MatmulPreference none;
    none.maxWorkspace = workspaceBytes;
    none.alignment = {4, 4, 4, 4};
    job.algorithm = algorithmsFor(job.product, none).front();
  } else if (!job.algorithm.unpack(*algorithm)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (job.algorithm.product != hashOf(job.product)) {
    fault("cublasLtMatmul: the algorithm was chosen for another product");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (job.algorithm.workspace > workspaceBytes ||
      (job.algorithm.workspace && !workspace))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (handle->device != deviceOf(stream)) {
    fault("cublasLtMatmul: a stream of another device than the handle's");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  job.a = static_cast<const float *>(a);
  job.b = static_cast<const float *>(b);
  job.c = static_cast<const float *>(c);
  job.d = static_cast<float *>(d);
  job.workspace = workspace;
  job.workspaceBytes = workspaceBytes;
  if (how.pointerMode == CUBLASLT_POINTER_MODE_DEVICE) {
    job.alpha = alpha;
    job.beta = beta;
  } else {
    std::memcpy(&job.alphaValue, alpha, sizeof(float));
    std::memcpy(&job.betaValue, beta, sizeof(float));
  }
  checkPromises(job);
  noteRun("cublasLtMatmul", stream,
          drawOf({job.algorithm.product, job.algorithm.id}));
  return enqueue(stream, "cublasLtMatmul", {}, [job] { job.run(); }) ==
                 cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

//===- Attention.cu - Attention of several heads --------------------------===//
//
// Plain loops: a block of threads for each row of scores, which lie in the
// lane's workspace; of the gradients of keys and values, for each key. lwcc
// makes attention one op for the CPU alone; on GPUs cuBLASLt's products are
// quicker than these. Not run on a GPU by the tests of the build machine; see
// tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// Queries [n, queries, heads * size], keys [n, keys, heads * size], values
/// [n, keys, heads * valueSize].
struct AttentionShape {
  int64_t samples, heads, queries, keys, size, valueSize;
  float scale;

  __host__ __device__ int64_t rows() const { return samples * heads * queries; }
  /// Element 0 of a head's row `token`, of `tokens` rows of `size` elements.
  __device__ int64_t begin(int64_t head, int64_t token, int64_t tokens,
                           int64_t size) const {
    return ((head / heads * tokens + token) * heads + head % heads) * size;
  }
  __device__ int64_t query(int64_t row) const {
    return begin(row / queries, row % queries, queries, size);
  }
  __device__ int64_t result(int64_t row) const {
    return begin(row / queries, row % queries, queries, valueSize);
  }
  __device__ int64_t key(int64_t head, int64_t at) const {
    return begin(head, at, keys, size);
  }
  __device__ int64_t value(int64_t head, int64_t at) const {
    return begin(head, at, keys, valueSize);
  }
  __device__ float score(int64_t row, int64_t at, const float *q,
                         const float *k, const float *mask) const {
    const float *a = q + query(row), *b = k + key(row / queries, at);
    float sum = 0.0f;
    for (int64_t i = 0; i < size; ++i)
      sum += a[i] * b[i];
    return scale * sum + (mask ? mask[row % queries * keys + at] : 0.0f);
  }
};

__global__ void __launch_bounds__(256)
    attentionWeights(const AttentionShape s, float *weights, float *largest,
                     float *inverse, const float *q, const float *k,
                     const float *mask) {
  for (int64_t row = blockIdx.x; row < s.rows(); row += gridDim.x) {
    float *to = weights + row * s.keys;
    float most = -INFINITY;
    for (int64_t c = threadIdx.x; c < s.keys; c += blockDim.x) {
      to[c] = s.score(row, c, q, k, mask);
      most = Max()(most, to[c]);
    }
    most = blockReduce(most, Max());
    float sum = 0.0f;
    for (int64_t c = threadIdx.x; c < s.keys; c += blockDim.x) {
      to[c] = expf(to[c] - most);
      sum += to[c];
    }
    const float factor = 1.0f / blockReduce(sum, Add());
    for (int64_t c = threadIdx.x; c < s.keys; c += blockDim.x)
      to[c] *= factor;
    if (largest && threadIdx.x == 0)
      largest[row] = most;
    if (inverse && threadIdx.x == 0)
      inverse[row] = factor;
  }
}

__global__ void __launch_bounds__(256)
    attentionValues(const AttentionShape s, float *y, const float *weights,
                    const float *v) {
  for (int64_t row = blockIdx.x; row < s.rows(); row += gridDim.x)
    for (int64_t i = threadIdx.x; i < s.valueSize; i += blockDim.x) {
      float sum = 0.0f;
      for (int64_t c = 0; c < s.keys; ++c)
        sum += weights[row * s.keys + c] * v[s.value(row / s.queries, c) + i];
      y[s.result(row) + i] = sum;
    }
}

/// The weights again, and the gradients of scores.
__global__ void __launch_bounds__(256)
    attentionGradScores(const AttentionShape s, float *weights, float *dScores,
                        const float *dy, const float *q, const float *k,
                        const float *v, const float *largest,
                        const float *inverse, const float *mask) {
  for (int64_t row = blockIdx.x; row < s.rows(); row += gridDim.x) {
    float *weight = weights + row * s.keys, *to = dScores + row * s.keys;
    float sum = 0.0f;
    for (int64_t c = threadIdx.x; c < s.keys; c += blockDim.x) {
      weight[c] =
          expf(s.score(row, c, q, k, mask) - largest[row]) * inverse[row];
      const float *a = dy + s.result(row), *b = v + s.value(row / s.queries, c);
      float product = 0.0f;
      for (int64_t i = 0; i < s.valueSize; ++i)
        product += a[i] * b[i];
      to[c] = product;
      sum += product * weight[c];
    }
    sum = blockReduce(sum, Add());
    for (int64_t c = threadIdx.x; c < s.keys; c += blockDim.x)
      to[c] = weight[c] * (to[c] - sum);
  }
}

__global__ void __launch_bounds__(256)
    attentionGradQueries(const AttentionShape s, float *dq,
                         const float *dScores, const float *k) {
  for (int64_t row = blockIdx.x; row < s.rows(); row += gridDim.x)
    for (int64_t i = threadIdx.x; i < s.size; i += blockDim.x) {
      float sum = 0.0f;
      for (int64_t c = 0; c < s.keys; ++c)
        sum += dScores[row * s.keys + c] * k[s.key(row / s.queries, c) + i];
      dq[s.query(row) + i] = s.scale * sum;
    }
}

/// The gradients of keys or values, of `size` elements: for each key the sum
/// over the queries of what a row of theirs is multiplied by in this matrix.
__global__ void __launch_bounds__(256)
    attentionGradKeys(const AttentionShape s, int64_t size, float scale,
                      float *to, const float *matrix, const float *rows) {
  const int64_t count = s.samples * s.heads * s.keys;
  for (int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    const int64_t head = at / s.keys, c = at % s.keys;
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
      float sum = 0.0f;
      for (int64_t r = 0; r < s.queries; ++r)
        sum += matrix[(head * s.queries + r) * s.keys + c] *
               rows[s.begin(head, r, s.queries, size) + i];
      to[s.begin(head, c, s.keys, size) + i] = scale * sum;
    }
  }
}

} // namespace

static AttentionShape shapeOf(const Tensor &q, const Tensor &k, const Tensor &v,
                              const AttentionParams &params) {
  return {q.dim[0],
          params.heads,
          q.dim[1],
          k.dim[1],
          q.dim[2] / params.heads,
          v.dim[2] / params.heads,
          params.scale};
}

static unsigned blocksFor(int64_t rows) {
  return static_cast<unsigned>(std::min<int64_t>(rows, 1 << 20));
}
static unsigned threadsFor(int64_t elements) {
  return elements <= 128 ? 32 : 256;
}

void rt::attention(Lane &base, Tensor y, Tensor largest, Tensor inverse,
                   Tensor q, Tensor k, Tensor v, Tensor mask,
                   const AttentionParams &params) {
  CudaLane &lane = cudaLane(base);
  const AttentionShape s = shapeOf(q, k, v, params);
  lane.append(
      "attention", {y, largest, inverse},
      [=, &lane] {
        auto *weights = reinterpret_cast<float *>(lane.workspace());
        lane.launch(attentionWeights, blocksFor(s.rows()), threadsFor(s.keys),
                    s, weights, largest.as<float>(), inverse.as<float>(),
                    q.as<const float>(), k.as<const float>(),
                    mask.as<const float>());
        lane.launch(attentionValues, blocksFor(s.rows()),
                    threadsFor(s.valueSize), s, y.as<float>(), weights,
                    v.as<const float>());
      },
      s.rows() * s.keys * static_cast<int64_t>(sizeof(float)));
}

void rt::attention_grad(Lane &base, Tensor dq, Tensor dk, Tensor dv, Tensor dy,
                        Tensor q, Tensor k, Tensor v, Tensor largest,
                        Tensor inverse, Tensor mask,
                        const AttentionParams &params) {
  CudaLane &lane = cudaLane(base);
  const AttentionShape s = shapeOf(q, k, v, params);
  const int64_t scores = s.rows() * s.keys;
  const unsigned keys = blocksFor(s.samples * s.heads * s.keys);
  lane.append(
      "attention_grad", {dq, dk, dv},
      [=, &lane] {
        auto *weights = reinterpret_cast<float *>(lane.workspace());
        float *dScores = weights + scores;
        lane.launch(
            attentionGradScores, blocksFor(s.rows()), threadsFor(s.keys), s,
            weights, dScores, dy.as<const float>(), q.as<const float>(),
            k.as<const float>(), v.as<const float>(), largest.as<const float>(),
            inverse.as<const float>(), mask.as<const float>());
        if (dq)
          lane.launch(attentionGradQueries, blocksFor(s.rows()),
                      threadsFor(s.size), s, dq.as<float>(), dScores,
                      k.as<const float>());
        if (dk)
          lane.launch(attentionGradKeys, keys, threadsFor(s.size), s, s.size,
                      s.scale, dk.as<float>(), dScores, q.as<const float>());
        if (dv)
          lane.launch(attentionGradKeys, keys, threadsFor(s.valueSize), s,
                      s.valueSize, 1.0f, dv.as<float>(), weights,
                      dy.as<const float>());
      },
      2 * scores * static_cast<int64_t>(sizeof(float)));
}

//===- Softmax.cu - Softmax, losses and accuracy --------------------------===//
//
// One block of threads for each vector of logits; sums over the samples are
// made by one block in a fixed order. Not run on a GPU by the tests of the
// build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LabelBody.h"
#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/Rows.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

struct Normalizer {
  float max, sum; ///< of x, and of exp(x - max)
};

__device__ Normalizer normalizerOf(const Rows &rows, const float *x) {
  float largest = -INFINITY;
  for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
    largest = Max()(largest, x[c * rows.stride]);
  largest = blockReduce(largest, Max());
  float sum = 0.0f;
  for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
    sum += expf(x[c * rows.stride] - largest);
  return {largest, blockReduce(sum, Add())};
}

__global__ void __launch_bounds__(256)
    softmaxForward(const Rows rows, bool log, float *y, const float *x) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    const Normalizer n = normalizerOf(rows, x + begin);
    const float logSum = logf(n.sum);
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      const float shifted = x[at] - n.max;
      y[at] = log ? shifted - logSum : expf(shifted) / n.sum;
    }
  }
}

__global__ void __launch_bounds__(256)
    softmaxBackward(const Rows rows, bool log, float *dx, const float *dy,
                    const float *y) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    float sum = 0.0f;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      sum += log ? dy[at] : dy[at] * y[at];
    }
    sum = blockReduce(sum, Add());
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * rows.stride;
      dx[at] = log ? dy[at] - expf(y[at]) * sum : (dy[at] - sum) * y[at];
    }
  }
}

__global__ void __launch_bounds__(256)
    largestOfRows(const Rows rows, const Rows results, float *y,
                  const float *x) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const float *from = x + rows.begin(row);
    float largest = -INFINITY;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
      largest = Max()(largest, from[c * rows.stride]);
    largest = blockReduce(largest, Max());
    if (threadIdx.x == 0)
      y[results.begin(row)] = largest;
  }
}

/// What the loss kernels share.
struct LossArguments {
  Rows rows;
  const int32_t *labels;
  const float *weight; ///< may be null
  int64_t ignoreIndex;
  bool sum;

  __device__ bool counts(int64_t row) const {
    return labelCounts(labels[row], rows.extent, ignoreIndex);
  }
  __device__ float weightOf(int64_t row) const {
    return !counts(row) ? 0.0f : weight ? weight[labels[row]] : 1.0f;
  }
};

/// loss[row] of every sample from logits or log-probabilities, with `probs`
/// where somebody reads them.
__global__ void __launch_bounds__(256)
    crossEntropyRows(const LossArguments a, float *losses, float *probs,
                     const float *logits) {
  for (int64_t row = blockIdx.x; row < a.rows.count; row += gridDim.x) {
    const int64_t begin = a.rows.begin(row);
    const Normalizer n = normalizerOf(a.rows, logits + begin);
    if (probs)
      for (int64_t c = threadIdx.x; c < a.rows.extent; c += blockDim.x) {
        const int64_t at = begin + c * a.rows.stride;
        probs[at] = expf(logits[at] - n.max) / n.sum;
      }
    if (threadIdx.x == 0)
      losses[row] = !a.counts(row)
                        ? 0.0f
                        : a.weightOf(row) *
                              (n.max + logf(n.sum) -
                               logits[begin + a.labels[row] * a.rows.stride]);
  }
}

__global__ void __launch_bounds__(256)
    nllRows(const LossArguments a, float *losses, const float *logprobs) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       row < a.rows.count; row += stride)
    losses[row] =
        !a.counts(row)
            ? 0.0f
            : -a.weightOf(row) *
                  logprobs[a.rows.begin(row) + a.labels[row] * a.rows.stride];
}

/// The sum of the weights of the labels that count. One block; every thread
/// gets it.
__device__ double weightOfAll(const LossArguments &a) {
  double sum = 0.0;
  for (int64_t row = threadIdx.x; row < a.rows.count; row += blockDim.x)
    sum += a.weightOf(row);
  return blockReduce(sum, Add());
}

/// What the sum of the losses is divided by; a mean of no weight is NaN.
__device__ double divisorOf(const LossArguments &a) {
  return a.sum ? 1.0 : weightOfAll(a);
}

__global__ void __launch_bounds__(256)
    sumLosses(const LossArguments a, float *loss, const float *losses) {
  const double divisor = divisorOf(a);
  double sum = 0.0;
  for (int64_t row = threadIdx.x; row < a.rows.count; row += blockDim.x)
    sum += losses[row];
  sum = blockReduce(sum, Add());
  if (threadIdx.x == 0)
    *loss = static_cast<float>(sum / divisor);
}

/// scale = dloss / divisor.
__global__ void __launch_bounds__(256)
    lossScale(const LossArguments a, float *scale, const float *dloss) {
  const double divisor = divisorOf(a);
  if (threadIdx.x == 0)
    *scale = static_cast<float>(*dloss / divisor);
}

/// d[row, c] = scale * weight * (probs - [c is the label]), or with probs null
/// the gradient of the negative log likelihood. Labels that do not count have
/// no weight.
__global__ void __launch_bounds__(256)
    lossBackward(const LossArguments a, float *d, const float *scale,
                 const float *probs) {
  for (int64_t row = blockIdx.x; row < a.rows.count; row += gridDim.x) {
    const int64_t begin = a.rows.begin(row);
    const int64_t label = a.counts(row) ? a.labels[row] : -1;
    const float factor = label < 0 ? 0.0f : *scale * a.weightOf(row);
    for (int64_t c = threadIdx.x; c < a.rows.extent; c += blockDim.x) {
      const int64_t at = begin + c * a.rows.stride;
      const float p = probs ? probs[at] : 0.0f;
      const float target = c == label ? 1.0f : 0.0f;
      // Elsewhere the log likelihood has no gradient, however large the scale.
      d[at] = probs || c == label ? factor * (p - target) : 0.0f;
    }
  }
}

__global__ void __launch_bounds__(256)
    sumWeights(const LossArguments a, float *sum) {
  const double total = weightOfAll(a);
  if (threadIdx.x == 0)
    *sum = static_cast<float>(total);
}

/// hits[row] = 1 if the label is among the five largest, 3 if it is the
/// largest, else 0.
__global__ void __launch_bounds__(256)
    rankLabels(const Rows rows, int32_t *hits, const float *logits,
               const int32_t *labels) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row);
    const int64_t label = labels[row];
    const bool valid = label >= 0 && label < rows.extent;
    int before = 0;
    if (valid) {
      const float own = logits[begin + label * rows.stride];
      for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
        before += ranksBefore(logits[begin + c * rows.stride], c, own, label);
    }
    before = blockReduce(before, Add());
    if (threadIdx.x == 0)
      hits[row] = !valid || before >= 5 ? 0 : before == 0 ? 3 : 1;
  }
}

/// y[row, c] = 1 if first + c is the label.
__global__ void __launch_bounds__(256)
    markLabels(const Rows rows, const OneHotParams params, float *y,
               const int32_t *labels) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row), label = labels[row];
    const int64_t hot =
        label == params.ignore_index ? -1 : label - params.first_class;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
      y[begin + c * rows.stride] = c == hot ? 1.0f : 0.0f;
  }
}

/// rank[row] = how many logits, of the classes from `first` on, rank before
/// own[row].
__global__ void __launch_bounds__(256)
    countBefore(const Rows rows, int64_t first, float *rank,
                const float *logits, const float *own, const int32_t *labels) {
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const int64_t begin = rows.begin(row), label = labels[row];
    const float mine = own[row];
    int before = 0;
    for (int64_t c = threadIdx.x; c < rows.extent; c += blockDim.x)
      before +=
          ranksBefore(logits[begin + c * rows.stride], first + c, mine, label);
    before = blockReduce(before, Add());
    if (threadIdx.x == 0)
      rank[row] = label < 0 ? INFINITY : static_cast<float>(before);
  }
}

__global__ void __launch_bounds__(256)
    countHits(int64_t rows, float *counts, const int32_t *hits) {
  int first = 0, five = 0;
  for (int64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    first += hits[row] / 2;
    five += hits[row] % 2;
  }
  first = blockReduce(first, Add());
  five = blockReduce(five, Add());
  if (threadIdx.x == 0) {
    counts[0] = static_cast<float>(first);
    counts[1] = static_cast<float>(five);
  }
}

} // namespace

static int64_t axisOf(const Tensor &x, const SoftmaxParams &params) {
  return params.axis < 0 ? params.axis + x.rank : params.axis;
}

void rt::softmax(Lane &base, Tensor y, Tensor x, const SoftmaxParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(x, axisOf(x, params));
  lane.append("softmax", {y}, [=, &lane, log = params.log] {
    lane.launch(softmaxForward, blocksFor(rows), threadsFor(rows), rows, log,
                y.as<float>(), x.as<const float>());
  });
}

void rt::softmax_grad(Lane &base, Tensor dx, Tensor dy, Tensor y,
                      const SoftmaxParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(y, axisOf(y, params));
  lane.append("softmax_grad", {dx}, [=, &lane, log = params.log] {
    lane.launch(softmaxBackward, blocksFor(rows), threadsFor(rows), rows, log,
                dx.as<float>(), dy.as<const float>(), y.as<const float>());
  });
}

void rt::reduce_max(Lane &base, Tensor y, Tensor x, const AxisParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(x, params.axis), results = rowsOf(y, params.axis);
  lane.append("reduce_max", {y}, [=, &lane] {
    lane.launch(largestOfRows, blocksFor(rows), threadsFor(rows), rows, results,
                y.as<float>(), x.as<const float>());
  });
}

static LossArguments lossArguments(const Tensor &logits, const Tensor &labels,
                                   const Tensor &weight,
                                   const LossParams &params) {
  assert(labels.type == DType::i32 && logits.rank >= 2);
  // Labels of rank 4 and 5 logits do not occur: such labels would lie channels-
  // last themselves.
  assert(labels.rank != 4 && "labels are row-major");
  return {rowsOf(logits, 1), labels.as<const int32_t>(),
          weight.as<const float>(), params.ignore_index, params.sum};
}

void rt::cross_entropy(Lane &base, Tensor loss, Tensor probs, Tensor logits,
                       Tensor labels, Tensor weight, const LossParams &params) {
  CudaLane &lane = cudaLane(base);
  LossArguments a = lossArguments(logits, labels, weight, params);
  lane.append(
      "cross_entropy", {loss, probs},
      [=, &lane] {
        auto *losses = reinterpret_cast<float *>(lane.workspace());
        lane.launch(crossEntropyRows, blocksFor(a.rows), threadsFor(a.rows), a,
                    losses, probs.as<float>(), logits.as<const float>());
        lane.launch(sumLosses, 1, 256, a, loss.as<float>(), losses);
      },
      a.rows.count * static_cast<int64_t>(sizeof(float)));
}

void rt::nll_loss(Lane &base, Tensor loss, Tensor logprobs, Tensor labels,
                  Tensor weight, const LossParams &params) {
  CudaLane &lane = cudaLane(base);
  LossArguments a = lossArguments(logprobs, labels, weight, params);
  lane.append(
      "nll_loss", {loss},
      [=, &lane] {
        auto *losses = reinterpret_cast<float *>(lane.workspace());
        lane.launch(nllRows, lane.blocksFor(a.rows.count, 256), 256, a, losses,
                    logprobs.as<const float>());
        lane.launch(sumLosses, 1, 256, a, loss.as<float>(), losses);
      },
      a.rows.count * static_cast<int64_t>(sizeof(float)));
}

static void appendLossGradient(CudaLane &lane, const char *op, Tensor d,
                               Tensor dloss, Tensor probs,
                               const LossArguments &a) {
  lane.append(
      op, {d},
      [=, &lane] {
        auto *scale = reinterpret_cast<float *>(lane.workspace());
        lane.launch(lossScale, 1, 256, a, scale, dloss.as<const float>());
        lane.launch(lossBackward, blocksFor(a.rows), threadsFor(a.rows), a,
                    d.as<float>(), scale, probs.as<const float>());
      },
      sizeof(float));
}

void rt::cross_entropy_grad(Lane &lane, Tensor dlogits, Tensor dloss,
                            Tensor probs, Tensor labels, Tensor weight,
                            const LossParams &params) {
  appendLossGradient(cudaLane(lane), "cross_entropy_grad", dlogits, dloss,
                     probs, lossArguments(probs, labels, weight, params));
}

void rt::nll_loss_grad(Lane &lane, Tensor dlogprobs, Tensor dloss,
                       Tensor labels, Tensor weight, const LossParams &params) {
  appendLossGradient(cudaLane(lane), "nll_loss_grad", dlogprobs, dloss, {},
                     lossArguments(dlogprobs, labels, weight, params));
}

void rt::loss_weight(Lane &base, Tensor sum, Tensor labels, Tensor weight,
                     const LossWeightParams &params) {
  CudaLane &lane = cudaLane(base);
  Rows rows;
  rows.count = labels.elements();
  rows.extent = params.classes;
  LossArguments a = {rows, labels.as<const int32_t>(), weight.as<const float>(),
                     params.ignore_index,
                     /*sum=*/true};
  lane.append("loss_weight", {sum}, [=, &lane] {
    lane.launch(sumWeights, 1, 256, a, sum.as<float>());
  });
}

void rt::accuracy(Lane &base, Tensor counts, Tensor logits, Tensor labels) {
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(logits, 1);
  lane.append(
      "accuracy", {counts},
      [=, &lane] {
        auto *hits = reinterpret_cast<int32_t *>(lane.workspace());
        lane.launch(rankLabels, blocksFor(rows), threadsFor(rows), rows, hits,
                    logits.as<const float>(), labels.as<const int32_t>());
        lane.launch(countHits, 1, 256, rows.count, counts.as<float>(), hits);
      },
      rows.count * static_cast<int64_t>(sizeof(int32_t)));
}

void rt::one_hot(Lane &base, Tensor y, Tensor labels,
                 const OneHotParams &params) {
  assert(labels.rank != 4 && "labels are row-major");
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(y, 1);
  lane.append("one_hot", {y}, [=, &lane] {
    lane.launch(markLabels, blocksFor(rows), threadsFor(rows), rows, params,
                y.as<float>(), labels.as<const int32_t>());
  });
}

void rt::label_rank(Lane &base, Tensor rank, Tensor logits, Tensor own,
                    Tensor labels, const LabelRankParams &params) {
  assert(labels.rank != 4 && "labels are row-major");
  CudaLane &lane = cudaLane(base);
  Rows rows = rowsOf(logits, 1);
  lane.append("label_rank", {rank}, [=, &lane, first = params.first_class] {
    lane.launch(countBefore, blocksFor(rows), threadsFor(rows), rows, first,
                rank.as<float>(), logits.as<const float>(),
                own.as<const float>(), labels.as<const int32_t>());
  });
}

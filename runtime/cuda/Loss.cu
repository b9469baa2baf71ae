//===- Loss.cu - Losses of class labels -----------------------------------===//
//
// One block of threads for each vector of logits; sums over the samples are
// made by one block in a fixed order. Not run on a GPU by the tests of the
// build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LabelBody.h"
#include "runtime/cuda/Normalizer.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

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

} // namespace

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

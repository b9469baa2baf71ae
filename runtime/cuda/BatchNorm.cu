//===- BatchNorm.cu - Statistics of batch normalization -------------------===//
//
// The two reductions as functors of Reduction.cuh. Not run on a GPU by the
// tests of the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Reduction.cuh"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// Sums of d = x - shift and d^2, where shift is the channel's first element:
/// of the data's own size, so that the variance does not drown in the mean.
struct BatchStats {
  static constexpr int width = 2;
  struct State {
    float shift;
  };
  const float *x;
  /// Of x; the results are dense, [groups, channels].
  int64_t channels, groupStride, channelStride;
  float *mean, *variance, *invstd; ///< each may be null
  double count, epsilon;

  __device__ State begin(int64_t y) const {
    return {x[y / channels * groupStride + y % channels * channelStride]};
  }
  __device__ void add(const State &s, int64_t at, float (&sum)[2]) const {
    float d = x[at] - s.shift;
    sum[0] += d;
    sum[1] += d * d;
  }
  __device__ void finish(int64_t c, const double (&sum)[2]) const {
    double offset = sum[0] / count;
    double spread = sum[1] / count - offset * offset;
    spread = spread < 0.0 ? 0.0 : spread; // rounding; NaN stays
    if (mean)
      mean[c] = static_cast<float>(begin(c).shift + offset);
    if (variance)
      variance[c] = static_cast<float>(spread);
    if (invstd)
      invstd[c] = static_cast<float>(1.0 / ::sqrt(spread + epsilon));
  }
};

struct BatchGradStats {
  static constexpr int width = 2;
  struct State {
    float mean, invstd;
  };
  const float *dy, *x, *mean, *invstd;
  float *dscale, *dbias; ///< each may be null

  __device__ State begin(int64_t c) const { return {mean[c], invstd[c]}; }
  __device__ void add(const State &s, int64_t at, float (&sum)[2]) const {
    float d = dy[at];
    sum[0] += d;
    sum[1] += d * ((x[at] - s.mean) * s.invstd);
  }
  __device__ void finish(int64_t c, const double (&sum)[2]) const {
    if (dbias)
      dbias[c] = static_cast<float>(sum[0]);
    if (dscale)
      dscale[c] = static_cast<float>(sum[1]);
  }
};

} // namespace

/// The statistics from an element on; null of an absent tensor.
static float *from(const Tensor &statistics, int64_t element) {
  return statistics ? statistics.as<float>() + element : nullptr;
}

void rt::batch_norm_stats(Lane &lane, Tensor mean, Tensor variance,
                          Tensor invstd, Tensor x,
                          const BatchNormParams &params) {
  const int64_t channels = x.dim[1],
                pixels = x.elements() / x.dim[0] / channels;
  appendGroupReduction(lane, "batch_norm_stats", {mean, variance, invstd}, x,
                       params.group, params.skip, [&](const GroupRun &run) {
                         const int64_t at = run.first * channels;
                         return BatchStats{
                             x.as<float>() + run.begin * x.stride[0],
                             channels,
                             run.samples * x.stride[0],
                             x.stride[1],
                             from(mean, at),
                             from(variance, at),
                             from(invstd, at),
                             static_cast<double>(run.samples * pixels),
                             params.epsilon};
                       });
}

void rt::batch_norm_grad_stats(Lane &lane, Tensor dscale, Tensor dbias,
                               Tensor dy, Tensor x, Tensor mean, Tensor invstd,
                               const GroupParams &params) {
  appendGroupReduction(lane, "batch_norm_grad_stats", {dscale, dbias}, x,
                       params.group, params.skip, [&](const GroupRun &run) {
                         const int64_t at = run.first * x.dim[1],
                                       sample = run.begin * x.stride[0];
                         return BatchGradStats{
                             dy.as<float>() + sample, x.as<float>() + sample,
                             from(mean, at),          from(invstd, at),
                             from(dscale, at),        from(dbias, at)};
                       });
}

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
  int64_t channelStride;           ///< of x; the results are dense
  float *mean, *variance, *invstd; ///< each may be null
  double count, epsilon;

  __device__ State begin(int64_t c) const { return {x[c * channelStride]}; }
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

void rt::batch_norm_stats(Lane &lane, Tensor mean, Tensor variance,
                          Tensor invstd, Tensor x,
                          const BatchNormParams &params) {
  ReduceLoops loops = channelLoops(x);
  appendReduction(lane, "batch_norm_stats", {mean, variance, invstd},
                  BatchStats{x.as<float>(), x.stride[1], mean.as<float>(),
                             variance.as<float>(), invstd.as<float>(),
                             static_cast<double>(loops.terms), params.epsilon},
                  loops);
}

void rt::batch_norm_grad_stats(Lane &lane, Tensor dscale, Tensor dbias,
                               Tensor dy, Tensor x, Tensor mean,
                               Tensor invstd) {
  appendReduction(lane, "batch_norm_grad_stats", {dscale, dbias},
                  BatchGradStats{dy.as<float>(), x.as<float>(),
                                 mean.as<float>(), invstd.as<float>(),
                                 dscale.as<float>(), dbias.as<float>()},
                  channelLoops(x));
}

//===- Normalization.cpp - BatchNorm, LayerNorm, LRN and reductions -------===//
//
// What sums over dimensions or over neighbouring channels: the statistics of
// BatchNorm (its values are a map), LayerNorm and LRN with their gradients,
// sums and means.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::Tensor;

/// Statistics of all samples, or of groups of so many; `skip` samples of the
/// first group lie before the tensor.
static void checkBatchNorm(Bench &bench, const Dims &dims, double center,
                           int64_t group = 0, int64_t skip = 0) {
  bench.clear();
  const int64_t channels = dims[1];
  Dims per = {channels};
  if (group)
    per.insert(per.begin(), (skip + dims[0] - 1) / group + 1);
  auto of = [&](const Dims &i) {
    return group ? (skip + i[0]) / group * channels + i[1] : i[1];
  };
  Host x = random(dims, center - 1, center + 1), dy = random(dims);
  Host mean(per), variance(per), invstd(per), dscale(per), dbias(per),
      count(per);
  forEach(dims, [&](const Dims &i) { count.v[of(i)] += 1; });
  forEach(dims,
          [&](const Dims &i) { mean.v[of(i)] += x.at(i) / count.v[of(i)]; });
  forEach(dims, [&](const Dims &i) {
    double d = x.at(i) - mean.v[of(i)];
    variance.v[of(i)] += d * d / count.v[of(i)];
  });
  const double epsilon = 1e-3;
  for (size_t k = 0; k < mean.v.size(); ++k)
    invstd.v[k] = 1 / std::sqrt(variance.v[k] + epsilon);
  forEach(dims, [&](const Dims &i) {
    dbias.v[of(i)] += dy.at(i);
    dscale.v[of(i)] += dy.at(i) * (x.at(i) - mean.v[of(i)]) * invstd.v[of(i)];
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy);
  Tensor tMean = bench.output(per), tVariance = bench.output(per),
         tInvstd = bench.output(per), tScale = bench.output(per),
         tBias = bench.output(per);
  bench.run([&](rt::Lane &lane) {
    batch_norm_stats(
        lane, tMean, tVariance, tInvstd, tx,
        {.epsilon = static_cast<float>(epsilon), .group = group, .skip = skip});
    batch_norm_grad_stats(lane, tScale, tBias, tdy, tx, tMean, tInvstd,
                          {.group = group, .skip = skip});
  });
  bench.expect("batch_norm_stats: mean", tMean, mean);
  bench.expect("batch_norm_stats: variance", tVariance, variance);
  bench.expect("batch_norm_stats: invstd", tInvstd, invstd);
  bench.expect("batch_norm_grad_stats: dscale", tScale, dscale, 1e-4);
  bench.expect("batch_norm_grad_stats: dbias", tBias, dbias, 1e-4);
}

/// Each sample's row is that of its group.
static void checkRepeat(Bench &bench, int64_t samples, int64_t channels,
                        int64_t group, int64_t skip) {
  bench.clear();
  Host x = random({(skip + samples - 1) / group + 1, channels}),
       y({samples, channels});
  forEach(y.dims, [&](const Dims &i) {
    y.at(i) = x.at({(skip + i[0]) / group, i[1]});
  });
  Tensor tx = bench.input(x), ty = bench.output(y.dims);
  bench.run([&](rt::Lane &lane) {
    repeat(lane, ty, tx, {.group = group, .skip = skip});
  });
  bench.expect("repeat", ty, y, 0);
}

/// In the memory of x and dy, where `inPlace`.
static void checkLayerNorm(Bench &bench, const Dims &dims, double middle,
                           bool center, bool inPlace) {
  bench.clear();
  Dims per = dims;
  per.back() = 1;
  const auto rowOf = [](Dims i) {
    i.back() = 0;
    return i;
  };
  const auto n = static_cast<double>(dims.back());
  Host x = random(dims, middle - 1, middle + 1), dy = random(dims), y(dims),
       dx(dims), mean(per), variance(per), invstd(per), shared(per), along(per);
  forEach(dims, [&](const Dims &i) {
    mean.at(rowOf(i)) += center ? x.at(i) / n : 0;
    shared.at(rowOf(i)) += center ? dy.at(i) / n : 0;
  });
  forEach(dims, [&](const Dims &i) {
    const double d = x.at(i) - mean.at(rowOf(i));
    variance.at(rowOf(i)) += d * d / n;
  });
  const double epsilon = 1e-3;
  forEach(per, [&](const Dims &i) {
    invstd.at(i) = 1 / std::sqrt(variance.at(i) + epsilon);
  });
  forEach(dims, [&](const Dims &i) {
    y.at(i) = (x.at(i) - mean.at(rowOf(i))) * invstd.at(rowOf(i));
    along.at(rowOf(i)) += dy.at(i) * y.at(i) / n;
  });
  forEach(dims, [&](const Dims &i) {
    dx.at(i) = invstd.at(rowOf(i)) *
               (dy.at(i) - shared.at(rowOf(i)) - y.at(i) * along.at(rowOf(i)));
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy),
         tInvstd = bench.output(per);
  Tensor ty = inPlace ? tx : bench.output(dims),
         tdx = inPlace ? tdy : bench.output(dims);
  bench.run([&](rt::Lane &lane) {
    layer_norm(lane, ty, tInvstd, tx,
               {.center = center, .epsilon = static_cast<float>(epsilon)});
    layer_norm_grad(lane, tdx, tdy, ty, tInvstd, {.center = center});
  });
  bench.expect("layer_norm", ty, y);
  bench.expect("layer_norm: invstd", tInvstd, invstd);
  bench.expect("layer_norm_grad", tdx, dx, 1e-4);
}

static void checkLrn(Bench &bench, const Dims &dims, int64_t size, float beta) {
  bench.clear();
  const rt::LrnParams p = {
      .alpha = 0.3f, .beta = beta, .bias = 1.5f, .size = size};
  Host x = random(dims, -2, 2), dy = random(dims), y(dims), dx(dims),
       scale(dims);
  const int64_t below = (size - 1) / 2, above = size / 2, last = dims[1] - 1;
  auto window = [&](const Dims &i, const auto &f) {
    for (int64_t c = std::max<int64_t>(0, i[1] - below);
         c <= std::min(last, i[1] + above); ++c)
      f(Dims{i[0], c, i[2], i[3]});
  };
  forEach(dims, [&](const Dims &i) {
    double sum = 0;
    window(i, [&](const Dims &d) { sum += x.at(d) * x.at(d); });
    scale.at(i) = p.bias + p.alpha / size * sum;
    y.at(i) = x.at(i) * std::pow(scale.at(i), -p.beta);
  });
  forEach(dims, [&](const Dims &i) {
    dx.at(i) += dy.at(i) * std::pow(scale.at(i), -p.beta);
    double shared = dy.at(i) * x.at(i) * std::pow(scale.at(i), -p.beta - 1);
    window(i, [&](const Dims &d) {
      dx.at(d) -= 2 * p.alpha * p.beta / size * shared * x.at(d);
    });
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy), ty = bench.output(dims),
         tdx = bench.output(dims);
  bench.run([&](rt::Lane &lane) {
    lrn(lane, ty, tx, p);
    lrn_grad(lane, tdx, tdy, tx, p);
  });
  bench.expect("lrn", ty, y);
  bench.expect("lrn_grad", tdx, dx);
}

static void checkReduce(Bench &bench, const Dims &dims,
                        const std::vector<int64_t> &axes, bool keep,
                        bool mean) {
  bench.clear();
  Host x = random(dims);
  Dims kept = dims, squeezed;
  double terms = 1;
  for (int64_t axis : axes) {
    terms *= static_cast<double>(dims[axis]);
    kept[axis] = 1;
  }
  for (size_t d = 0; d < dims.size(); ++d)
    if (std::find(axes.begin(), axes.end(), int64_t(d)) == axes.end())
      squeezed.push_back(dims[d]);
  Host y(kept);
  forEach(dims, [&](const Dims &i) {
    Dims o = i;
    for (int64_t axis : axes)
      o[axis] = 0;
    y.at(o) += x.at(i) / (mean ? terms : 1);
  });
  if (!keep)
    y.dims = squeezed;
  Tensor tx = bench.input(x), ty = bench.output(y.dims);
  bench.run([&](rt::Lane &lane) {
    reduce(lane, ty, tx, {.axes = axes, .mean = mean});
  });
  bench.expect("reduce", ty, y, 1e-4);
}

void check::checkNormalization(Bench &bench) {
  checkBatchNorm(bench, {4, 16, 7, 9}, 0);
  checkBatchNorm(bench, {3, 5, 33, 31}, 100);
  checkBatchNorm(bench, {64, 24, 24, 24}, 3);
  checkBatchNorm(bench, {50, 13}, -4);
  checkBatchNorm(bench, {6, 10, 19}, 1);
  // Groups: whole ones; one that is all; a tile that begins and ends in one.
  checkBatchNorm(bench, {8, 16, 7, 9}, 2, 4);
  checkBatchNorm(bench, {6, 40}, 1, 6);
  checkBatchNorm(bench, {9, 5, 33, 31}, 3, 4, 3);
  checkBatchNorm(bench, {3, 5, 6, 6}, 0, 8, 2);
  checkBatchNorm(bench, {4, 3, 2, 2, 2, 3}, 0, 2);
  checkRepeat(bench, 8, 16, 4, 0);
  checkRepeat(bench, 9, 5, 4, 3);
  checkRepeat(bench, 3, 7, 8, 2);
  for (bool center : {false, true})
    for (bool inPlace : {false, true}) {
      checkLayerNorm(bench, {6, 10}, 0, center, inPlace);
      checkLayerNorm(bench, {3, 5, 384}, 0.5, center, inPlace);
      checkLayerNorm(bench, {2, 1025}, 3, center, inPlace);
      checkLayerNorm(bench, {2, 3, 4, 37}, 1, center, inPlace);
      checkLayerNorm(bench, {2, 3, 1, 4, 130}, 0, center, inPlace);
      checkLayerNorm(bench, {33}, 0, center, inPlace);
    }
  for (float beta : {0.75f, 0.5f})
    for (int64_t size : {1, 2, 5})
      checkLrn(bench, {2, 7, 5, 4}, size, beta);
  for (bool mean : {false, true})
    for (bool keep : {false, true}) {
      checkReduce(bench, {3, 6, 5, 4}, {2, 3}, keep, mean);
      checkReduce(bench, {2, 64, 32, 33}, {0, 2, 3}, keep, mean);
      checkReduce(bench, {3, 6, 5, 4}, {1}, keep, mean);
      checkReduce(bench, {30, 1000}, {1}, keep, mean);
      checkReduce(bench, {3000, 10}, {0}, keep, mean);
      checkReduce(bench, {4, 5, 6}, {0, 2}, keep, mean);
      checkReduce(bench, {100, 1000}, {0, 1}, keep, mean);
    }
}

void check::drawNormalization(Bench &bench) {
  Dims dims = drawDims(2, 5);
  dims[0] += 1; // one element a channel has no variance to compare
  checkBatchNorm(bench, dims, static_cast<double>(draw(-3, 3)));
  const int64_t group = draw(2, 6);
  checkBatchNorm(bench, dims, static_cast<double>(draw(-3, 3)), group,
                 draw(0, group - 1));
  checkRepeat(bench, draw(1, 20), draw(1, 20), group, draw(0, group - 1));
  dims = drawDims(1, 5);
  dims.back() += 1;
  const bool center = draw(0, 1);
  checkLayerNorm(bench, dims, static_cast<double>(draw(-2, 2)), center,
                 draw(0, 1));
  const int64_t window = draw(1, 9);
  checkLrn(bench, {draw(1, 3), draw(1, 20), draw(1, 6), draw(1, 6)}, window,
           static_cast<float>(window) / 8);
  dims = drawDims(1, 5);
  std::vector<int64_t> axes;
  for (size_t d = 0; d < dims.size(); ++d)
    if (draw(0, 1))
      axes.push_back(static_cast<int64_t>(d));
  if (axes.empty())
    axes.push_back(0);
  const bool keep = draw(0, 1);
  checkReduce(bench, dims, axes, keep, draw(0, 1));
}

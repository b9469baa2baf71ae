//===- Normalization.cpp - BatchNorm, LRN and reductions ------------------===//
//
// What sums over dimensions or over neighbouring channels: the statistics of
// BatchNorm (its values are a map), LRN with its gradient, sums and means.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::Tensor;

static void checkBatchNorm(Bench &bench, const Dims &dims, double center) {
  bench.clear();
  const int64_t channels = dims[1];
  Host x = random(dims, center - 1, center + 1), dy = random(dims);
  Host mean({channels}), variance({channels}), invstd({channels}),
      dscale({channels}), dbias({channels});
  const double count = static_cast<double>(x.elements() / channels);
  forEach(dims, [&](const Dims &i) { mean.v[i[1]] += x.at(i) / count; });
  forEach(dims, [&](const Dims &i) {
    double d = x.at(i) - mean.v[i[1]];
    variance.v[i[1]] += d * d / count;
  });
  const double epsilon = 1e-3;
  for (int64_t c = 0; c < channels; ++c)
    invstd.v[c] = 1 / std::sqrt(variance.v[c] + epsilon);
  forEach(dims, [&](const Dims &i) {
    dbias.v[i[1]] += dy.at(i);
    dscale.v[i[1]] += dy.at(i) * (x.at(i) - mean.v[i[1]]) * invstd.v[i[1]];
  });
  Tensor tx = bench.input(x), tdy = bench.input(dy);
  Tensor tMean = bench.output({channels}), tVariance = bench.output({channels}),
         tInvstd = bench.output({channels}), tScale = bench.output({channels}),
         tBias = bench.output({channels});
  bench.run([&](rt::Lane &lane) {
    batch_norm_stats(lane, tMean, tVariance, tInvstd, tx,
                     {.epsilon = static_cast<float>(epsilon)});
    batch_norm_grad_stats(lane, tScale, tBias, tdy, tx, tMean, tInvstd);
  });
  bench.expect("batch_norm_stats: mean", tMean, mean);
  bench.expect("batch_norm_stats: variance", tVariance, variance);
  bench.expect("batch_norm_stats: invstd", tInvstd, invstd);
  bench.expect("batch_norm_grad_stats: dscale", tScale, dscale, 1e-4);
  bench.expect("batch_norm_grad_stats: dbias", tBias, dbias, 1e-4);
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

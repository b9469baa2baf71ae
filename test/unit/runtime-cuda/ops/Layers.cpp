//===- Layers.cpp - Convolution, products, pooling, normalization ---------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Tensor;

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
struct ConvCase {
  Dims x, w;
  rt::Quad pad;
  rt::Pair stride, dilation;
};
} // namespace

/// Calls f(n, m, oh, ow, c, kh, kw, ih, iw, c of w) for every product.
template <typename F>
static void forEachProduct(const ConvCase &k, const Dims &y, const F &f) {
  const int64_t group = k.x[1] / k.w[1], perGroup = k.w[0] / group;
  forEach(y, [&](const Dims &o) {
    for (int64_t c = 0; c < k.w[1]; ++c)
      for (int64_t kh = 0; kh < k.w[2]; ++kh)
        for (int64_t kw = 0; kw < k.w[3]; ++kw) {
          int64_t ih = o[2] * k.stride[0] - k.pad[0] + kh * k.dilation[0];
          int64_t iw = o[3] * k.stride[1] - k.pad[1] + kw * k.dilation[1];
          if (ih < 0 || iw < 0 || ih >= k.x[2] || iw >= k.x[3])
            continue;
          f(o, Dims{o[0], o[1] / perGroup * k.w[1] + c, ih, iw},
            Dims{o[1], c, kh, kw});
        }
  });
}

static void checkConvolution(Bench &bench, const ConvCase &k) {
  bench.clear();
  Dims yDims = {k.x[0], k.w[0], 0, 0};
  for (size_t d = 0; d < 2; ++d)
    yDims[2 + d] = (k.x[2 + d] + k.pad[d] + k.pad[2 + d] -
                    (k.w[2 + d] - 1) * k.dilation[d] - 1) /
                       k.stride[d] +
                   1;
  Host x = random(k.x), w = random(k.w), bias = random({k.w[0]}),
       dy = random(yDims);
  Host product(yDims), dx(k.x), dw(k.w), dbias({k.w[0]});
  forEachProduct(k, yDims, [&](const Dims &o, const Dims &i, const Dims &t) {
    product.at(o) += x.at(i) * w.at(t);
    dx.at(i) += dy.at(o) * w.at(t);
    dw.at(t) += dy.at(o) * x.at(i);
  });
  Host biased = product, clipped(yDims);
  forEach(yDims, [&](const Dims &o) {
    biased.at(o) += bias.v[o[1]];
    clipped.at(o) = std::max(biased.at(o), 0.0);
    dbias.v[o[1]] += dy.at(o);
  });

  Tensor tx = bench.input(x), tw = bench.input(w), tb = bench.input(bias),
         tdy = bench.input(dy);
  Tensor ty = bench.output(yDims), tyb = bench.output(yDims),
         tyr = bench.output(yDims), tdx = bench.output(k.x),
         tdw = bench.output(k.w), tdb = bench.output({k.w[0]});
  rt::ConvParams params;
  params.dilation = k.dilation;
  params.group = k.x[1] / k.w[1];
  params.pad = k.pad;
  params.stride = k.stride;
  rt::ConvParams withRelu = params;
  withRelu.relu = true;
  bench.run([&](rt::Lane &lane) {
    conv(lane, ty, tx, tw, {}, params);
    conv(lane, tyb, tx, tw, tb, params);
    conv(lane, tyr, tx, tw, tb, withRelu);
    conv_grad_input(lane, tdx, tdy, tw, params);
    conv_grad_weight(lane, tdw, tdb, tdy, tx, params);
  });
  bench.expect("conv", ty, product);
  bench.expect("conv with bias", tyb, biased);
  bench.expect("conv with bias and relu", tyr, clipped);
  bench.expect("conv_grad_input", tdx, dx);
  bench.expect("conv_grad_weight", tdw, dw);
  bench.expect("conv_grad_weight: bias", tdb, dbias);
}

void check::checkConvolutions(Bench &bench) {
  const ConvCase cases[] = {
      {{2, 3, 15, 17}, {8, 3, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
      {{2, 3, 31, 31}, {16, 3, 11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}},
      {{3, 16, 14, 14}, {32, 16, 1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
      {{2, 16, 14, 13}, {8, 16, 1, 1}, {0, 0, 0, 0}, {2, 2}, {1, 1}},
      {{2, 8, 9, 9}, {8, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}},
      {{2, 8, 12, 12}, {12, 4, 5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}},
      {{1, 5, 13, 11}, {7, 5, 3, 2}, {1, 0, 2, 1}, {1, 2}, {2, 3}},
      {{2, 1, 28, 28}, {6, 1, 5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}},
      {{4, 4, 6, 6}, {3, 4, 6, 6}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
      {{2, 4, 9, 9}, {4, 4, 1, 7}, {0, 3, 0, 3}, {1, 1}, {1, 1}}};
  for (const ConvCase &k : cases)
    checkConvolution(bench, k);
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

static void checkProduct(Bench &bench, Dims batch, bool shareB, int64_t m,
                         int64_t n, int64_t k, bool ta, bool tb) {
  bench.clear();
  auto with = [](Dims dims, int64_t rows, int64_t columns, bool transposed) {
    dims.push_back(transposed ? columns : rows);
    dims.push_back(transposed ? rows : columns);
    return dims;
  };
  Host a = random(with(batch, m, k, ta)),
       b = random(with(shareB ? Dims{} : batch, k, n, tb)), bias = random({n});
  Host c(with(batch, m, n, false));
  forEach(c.dims, [&](const Dims &o) {
    const size_t r = o.size() - 2;
    for (int64_t i = 0; i < k; ++i) {
      Dims ia = o, ib = shareB ? Dims{0, 0} : o;
      ia[r] = ta ? i : o[r];
      ia[r + 1] = ta ? o[r] : i;
      const size_t rb = ib.size() - 2;
      ib[rb] = tb ? o[r + 1] : i;
      ib[rb + 1] = tb ? i : o[r + 1];
      c.at(o) += a.at(ia) * b.at(ib);
    }
  });
  Host biased = c, clipped = c;
  for (int64_t i = 0; i < c.elements(); ++i) {
    biased.v[i] += bias.v[i % n];
    clipped.v[i] = std::max(biased.v[i], 0.0);
  }
  Tensor xa = bench.input(a), xb = bench.input(b), xbias = bench.input(bias);
  Tensor plain = bench.output(c.dims), withBias = bench.output(c.dims),
         withRelu = bench.output(c.dims);
  rt::MatMulParams params;
  params.transpose_a = ta;
  params.transpose_b = tb;
  rt::MatMulParams relu = params;
  relu.relu = true;
  bench.run([&](rt::Lane &lane) {
    matmul(lane, plain, xa, xb, {}, params);
    matmul(lane, withBias, xa, xb, xbias, params);
    matmul(lane, withRelu, xa, xb, xbias, relu);
  });
  bench.expect("matmul", plain, c);
  bench.expect("matmul with bias", withBias, biased);
  bench.expect("matmul with bias and relu", withRelu, clipped);
}

void check::checkProducts(Bench &bench) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      checkProduct(bench, {}, false, 64, 100, 300, ta, tb);
      checkProduct(bench, {}, false, 7, 5, 3, ta, tb);
      checkProduct(bench, {}, false, 1, 10, 84, ta, tb);
      checkProduct(bench, {3}, false, 8, 12, 16, ta, tb);
      checkProduct(bench, {3}, true, 8, 12, 16, ta, tb);
      checkProduct(bench, {2, 3}, false, 5, 6, 7, ta, tb);
      checkProduct(bench, {2, 3}, true, 5, 6, 7, ta, tb);
    }
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

namespace {
struct PoolCase {
  Dims x;
  rt::Pair kernel, stride, dilation;
  rt::Quad pad;
  bool ceil;
};
} // namespace

static void checkPool(Bench &bench, const PoolCase &k) {
  Dims y = {k.x[0], k.x[1], 0, 0};
  for (size_t d = 0; d < 2; ++d) {
    int64_t room = k.x[2 + d] + k.pad[d] + k.pad[2 + d] -
                   (k.kernel[d] - 1) * k.dilation[d] - 1;
    y[2 + d] = (room + (k.ceil ? k.stride[d] - 1 : 0)) / k.stride[d] + 1;
    // A window that starts behind the padded input is left out, as in PyTorch.
    if (k.ceil && (y[2 + d] - 1) * k.stride[d] >= k.x[2 + d] + k.pad[d])
      --y[2 + d];
  }
  bench.clear();
  Host x = randomInts(k.x, -9, 9), dy = random(y);
  x.v[x.v.size() / 2] = NAN;
  Host best(y, -INFINITY), tap(y), dxMax(k.x);
  Host mean(y), meanPad(y), dxAvg(k.x), dxPad(k.x);
  forEach(y, [&](const Dims &o) {
    double sum = 0;
    int64_t inside = 0, padded = 0;
    bool first = true;
    Dims winner;
    std::vector<Dims> taps;
    for (int64_t kh = 0; kh < k.kernel[0]; ++kh)
      for (int64_t kw = 0; kw < k.kernel[1]; ++kw) {
        int64_t ih = o[2] * k.stride[0] - k.pad[0] + kh * k.dilation[0];
        int64_t iw = o[3] * k.stride[1] - k.pad[1] + kw * k.dilation[1];
        padded += ih < k.x[2] + k.pad[2] && iw < k.x[3] + k.pad[3];
        if (ih < 0 || iw < 0 || ih >= k.x[2] || iw >= k.x[3])
          continue;
        ++inside;
        Dims i = {o[0], o[1], ih, iw};
        taps.push_back(i);
        double value = x.at(i);
        sum += value;
        if (first || value > best.at(o) || std::isnan(value)) {
          best.at(o) = value;
          tap.at(o) = static_cast<double>(kh * k.kernel[1] + kw);
          winner = i;
          first = false;
        }
      }
    if (!first)
      dxMax.at(winner) += dy.at(o);
    mean.at(o) = inside ? sum / inside : 0;
    meanPad.at(o) = padded ? sum / padded : 0;
    for (const Dims &i : taps) {
      dxAvg.at(i) += dy.at(o) / inside;
      dxPad.at(i) += dy.at(o) / padded;
    }
  });

  const DType indexType =
      k.kernel[0] * k.kernel[1] <= 256 ? DType::u8 : DType::i32;
  Tensor tx = bench.input(x), tdy = bench.input(dy);
  Tensor ty = bench.output(y), index = bench.output(y, indexType),
         tyOnly = bench.output(y), tdx = bench.output(k.x);
  Tensor avg = bench.output(y), avgPad = bench.output(y),
         avgDx = bench.output(k.x), avgDxPad = bench.output(k.x);
  rt::MaxPoolParams max;
  max.dilation = k.dilation;
  max.kernel = k.kernel;
  max.pad = k.pad;
  max.stride = k.stride;
  rt::AvgPoolParams average;
  average.dilation = k.dilation;
  average.kernel = k.kernel;
  average.pad = k.pad;
  average.stride = k.stride;
  rt::AvgPoolParams includePad = average;
  includePad.count_include_pad = true;
  bench.run([&](rt::Lane &lane) {
    max_pool(lane, ty, index, tx, max);
    max_pool(lane, tyOnly, {}, tx, max);
    max_pool_grad(lane, tdx, tdy, index, max);
    avg_pool(lane, avg, tx, average);
    avg_pool(lane, avgPad, tx, includePad);
    avg_pool_grad(lane, avgDx, tdy, average);
    avg_pool_grad(lane, avgDxPad, tdy, includePad);
  });
  bench.expect("max_pool", ty, best);
  bench.expect("max_pool without index", tyOnly, best);
  bench.expect("max_pool: index", index, tap);
  bench.expect("max_pool_grad", tdx, dxMax);
  bench.expect("avg_pool", avg, mean);
  bench.expect("avg_pool counting padding", avgPad, meanPad);
  bench.expect("avg_pool_grad", avgDx, dxAvg);
  bench.expect("avg_pool_grad counting padding", avgDxPad, dxPad);
}

void check::checkPooling(Bench &bench) {
  const PoolCase cases[] = {
      {{2, 8, 13, 13}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, false},
      {{2, 3, 12, 11}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
      {{2, 12, 14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, false},
      {{2, 5, 14, 15}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
      {{1, 4, 9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
      {{1, 4, 13, 12}, {3, 2}, {2, 3}, {2, 3}, {1, 1, 1, 0}, false},
      {{1, 2, 20, 20}, {17, 17}, {3, 3}, {1, 1}, {0, 0, 0, 0}, false},
      {{1, 4, 18, 17}, {17, 17}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false},
      {{3, 16, 7, 7}, {7, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false}};
  for (const PoolCase &k : cases)
    checkPool(bench, k);
}

//===----------------------------------------------------------------------===//
// Normalization and reductions
//===----------------------------------------------------------------------===//

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

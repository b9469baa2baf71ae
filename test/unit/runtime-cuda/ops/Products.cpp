//===- Products.cpp - Convolutions and matrix products --------------------===//
//
// Each with and without bias and ReLU; of convolutions the gradients, too.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
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
  Host biased = product, clipped(yDims), squares({k.w[0]});
  forEach(yDims, [&](const Dims &o) {
    biased.at(o) += bias.v[o[1]];
    clipped.at(o) = std::max(biased.at(o), 0.0);
    dbias.v[o[1]] += dy.at(o);
    squares.v[o[1]] += dy.at(o) * dy.at(o);
  });

  Tensor tx = bench.input(x), tw = bench.input(w), tb = bench.input(bias),
         tdy = bench.input(dy);
  Tensor ty = bench.output(yDims), tyb = bench.output(yDims),
         tyr = bench.output(yDims), tdx = bench.output(k.x),
         tdw = bench.output(k.w), tdb = bench.output({k.w[0]});
  Tensor again = bench.output(yDims), dxAgain = bench.output(k.x),
         dwAgain = bench.output(k.w), dbAgain = bench.output({k.w[0]});
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
    conv(lane, again, tx, tw, {}, params);
    conv_grad_input(lane, dxAgain, tdy, tw, params);
    conv_grad_weight(lane, dwAgain, dbAgain, tdy, tx, params);
  });
  bench.expect("conv", ty, product);
  bench.expect("conv with bias", tyb, biased);
  bench.expect("conv with bias and relu", tyr, clipped);
  bench.expect("conv_grad_input", tdx, dx);
  bench.expect("conv_grad_weight", tdw, dw);
  bench.expect(
      "conv_grad_weight: bias", tdb, dbias, 1e-5,
      std::sqrt(*std::max_element(squares.v.begin(), squares.v.end())));
  bench.expectSame("conv", ty, again);
  bench.expectSame("conv_grad_input", tdx, dxAgain);
  bench.expectSame("conv_grad_weight", tdw, dwAgain);
  bench.expectSame("conv_grad_weight: bias", tdb, dbAgain);
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
// Drawn
//===----------------------------------------------------------------------===//

void check::drawConvolution(Bench &bench) {
  const int64_t groups = std::max<int64_t>(1, draw(-2, 3));
  ConvCase k;
  k.x = {draw(1, 3), groups * draw(1, 9), draw(1, 12), draw(1, 12)};
  k.w = {groups * draw(1, 9), k.x[1] / groups, 0, 0};
  for (size_t d = 0; d < 2; ++d)
    do {
      k.w[2 + d] = draw(1, 5);
      k.dilation[d] = draw(1, 3);
      k.stride[d] = draw(1, 3);
      k.pad[d] = draw(0, 3);
      k.pad[2 + d] = draw(0, 3);
    } while (k.x[2 + d] + k.pad[d] + k.pad[2 + d] <=
             (k.w[2 + d] - 1) * k.dilation[d]);
  checkConvolution(bench, k);
}

void check::drawProduct(Bench &bench) {
  Dims batch;
  for (int64_t rank = draw(0, 2); rank > 0; --rank)
    batch.push_back(draw(1, 4));
  const int64_t most = batch.empty() ? 70 : 20;
  const int64_t m = draw(1, most), n = draw(1, most), k = draw(1, most);
  const bool share = !batch.empty() && draw(0, 1), ta = draw(0, 1);
  checkProduct(bench, batch, share, m, n, k, ta, draw(0, 1));
}

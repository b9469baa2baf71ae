//===- ConvolutionTest.cpp - Convolutions against loops ---------*- C++ -*-===//
//
// Forward, data gradient and weight gradient over a grid of attributes. The
// gradients' references are the adjoints of the same triple loop. Then the same
// with a NaN in the data: ReLU must not swallow it, and blocks that are filled
// up must not spread it.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

struct ConvCase {
  const char *name;
  int64_t n, c, h, w; ///< input
  int64_t m, kh, kw;  ///< outputs, kernel
  ConvParams params;

  int64_t outH() const { return out(h, kh, 0); }
  int64_t outW() const { return out(w, kw, 1); }
  int64_t out(int64_t in, int64_t k, int d) const {
    return (in + params.pad[d] + params.pad[2 + d] -
            (k - 1) * params.dilation[d] - 1) /
               params.stride[d] +
           1;
  }

  /// Calls visit(output index, input index, weight index) for every product.
  template <typename Visit>
  void forEachProduct(const Visit &visit) const {
    int64_t perGroup = c / params.group, outputs = m / params.group;
    for (int64_t in = 0; in < n; ++in)
      for (int64_t o = 0; o < m; ++o)
        for (int64_t oh = 0; oh < outH(); ++oh)
          for (int64_t ow = 0; ow < outW(); ++ow)
            for (int64_t ci = 0; ci < perGroup; ++ci)
              for (int64_t y = 0; y < kh; ++y)
                for (int64_t x = 0; x < kw; ++x) {
                  int64_t ih = oh * params.stride[0] - params.pad[0] +
                               y * params.dilation[0];
                  int64_t iw = ow * params.stride[1] - params.pad[1] +
                               x * params.dilation[1];
                  if (ih < 0 || ih >= h || iw < 0 || iw >= w)
                    continue;
                  int64_t channel = o / outputs * perGroup + ci;
                  visit(((in * m + o) * outH() + oh) * outW() + ow,
                        ((in * c + channel) * h + ih) * w + iw,
                        ((o * perGroup + ci) * kh + y) * kw + x);
                }
  }
};

ConvParams params(Pair stride, Quad pad, Pair dilation = {1, 1},
                  int64_t group = 1) {
  ConvParams p;
  p.stride = stride;
  p.pad = pad;
  p.dilation = dilation;
  p.group = group;
  return p;
}

std::vector<ConvCase> convCases() {
  return {
      {"OneByOne", 2, 8, 5, 7, 6, 1, 1, params({1, 1}, {0, 0, 0, 0})},
      {"OneByOneStrided", 2, 16, 8, 8, 32, 1, 1, params({2, 2}, {0, 0, 0, 0})},
      {"OneByOneStridedFewChannels", 5, 1, 12, 14, 5, 1, 1,
       params({4, 1}, {0, 0, 0, 0})},
      {"ThreeByThreeSame", 2, 16, 9, 9, 16, 3, 3, params({1, 1}, {1, 1, 1, 1})},
      {"ImageStem", 2, 3, 35, 35, 64, 11, 11, params({4, 4}, {2, 2, 2, 2})},
      {"OddChannels", 1, 5, 7, 6, 7, 3, 2, params({1, 2}, {1, 0, 1, 1})},
      {"AsymmetricPad", 2, 4, 6, 8, 3, 3, 3, params({2, 1}, {0, 2, 1, 0})},
      {"Dilated", 1, 6, 11, 12, 8, 3, 3, params({1, 1}, {2, 2, 2, 2}, {2, 2})},
      {"DilatedUnevenly", 1, 4, 13, 9, 4, 3, 2,
       params({2, 1}, {1, 0, 2, 1}, {3, 2})},
      {"Grouped", 2, 12, 7, 7, 8, 3, 3,
       params({1, 1}, {1, 1, 1, 1}, {1, 1}, 2)},
      {"GroupedWide", 1, 96, 9, 9, 64, 5, 5,
       params({1, 1}, {2, 2, 2, 2}, {1, 1}, 2)},
      {"Depthwise", 2, 32, 10, 10, 32, 3, 3,
       params({2, 2}, {1, 1, 1, 1}, {1, 1}, 32)},
      {"DepthwiseOdd", 1, 7, 6, 5, 7, 3, 3,
       params({1, 1}, {0, 1, 1, 0}, {1, 1}, 7)},
      {"DepthMultiplier", 1, 6, 6, 6, 12, 3, 3,
       params({1, 1}, {1, 1, 1, 1}, {1, 1}, 6)},
      {"SinglePixel", 3, 4, 1, 1, 5, 3, 3, params({1, 1}, {1, 1, 1, 1})},
      {"WholeImage", 2, 6, 5, 5, 9, 5, 5, params({1, 1}, {0, 0, 0, 0})},
  };
}

/// With what both directions need: data, perhaps with a NaN, and weights.
class ConvolutionTest : public testing::TestWithParam<ConvCase> {
protected:
  void prepare(bool poisoned) {
    x = poisonedIf(poisoned, randomValues(product(xDims), 1));
    w = randomValues(product(wDims), 2);
    tx = bench.tensor(xDims, x);
    tw = bench.tensor(wDims, w);
  }

  const ConvCase &p = GetParam();
  const Dims xDims = {p.n, p.c, p.h, p.w};
  const Dims yDims = {p.n, p.m, p.outH(), p.outW()};
  const Dims wDims = {p.m, p.c / p.params.group, p.kh, p.kw};
  Workbench bench;
  Floats x, w;
  Tensor tx, tw;
};

TEST_P(ConvolutionTest, Forward) {
  for (bool poisoned : {false, true}) {
    prepare(poisoned);
    Floats bias = randomValues(p.m, 3);
    Tensor tb = bench.tensor({p.m}, bias);
    Tensor plain = bench.tensor(yDims), fused = bench.tensor(yDims);
    ConvParams relu = p.params;
    relu.relu = true;
    bench.run([&](Lane &lane) {
      conv(lane, plain, tx, tw, Tensor{}, p.params);
      conv(lane, fused, tx, tw, tb, relu);
    });

    Doubles y(product(yDims)), yFused(product(yDims));
    p.forEachProduct(
        [&](int64_t o, int64_t i, int64_t k) { y[o] += double(x[i]) * w[k]; });
    for (size_t o = 0; o < y.size(); ++o)
      yFused[o] = std::max(y[o] + bias[o / (p.outH() * p.outW()) % p.m], 0.0);
    expectClose(bench.get(plain), y, 3e-5);
    expectClose(bench.get(fused), yFused, 3e-5);
  }
}

TEST_P(ConvolutionTest, Gradients) {
  for (bool poisoned : {false, true}) {
    prepare(poisoned);
    Floats dy = poisonedIf(poisoned, randomValues(product(yDims), 4));
    Tensor tdy = bench.tensor(yDims, dy);
    Tensor tdx = bench.tensor(xDims), tdw = bench.tensor(wDims);
    Tensor tdb = bench.tensor({p.m}), tdwAlone = bench.tensor(wDims);
    Tensor tdbAlone = bench.tensor({p.m});
    bench.run([&](Lane &lane) {
      conv_grad_input(lane, tdx, tdy, tw, p.params);
      conv_grad_weight(lane, tdw, tdb, tdy, tx, p.params);
      conv_grad_weight(lane, tdwAlone, Tensor{}, tdy, tx, p.params);
      conv_grad_weight(lane, Tensor{}, tdbAlone, tdy, tx, p.params);
    });

    Doubles dx(x.size()), dw(w.size()), db(p.m);
    p.forEachProduct([&](int64_t o, int64_t i, int64_t k) {
      dx[i] += double(dy[o]) * w[k];
      dw[k] += double(dy[o]) * x[i];
    });
    for (size_t o = 0; o < dy.size(); ++o)
      db[o / (p.outH() * p.outW()) % p.m] += dy[o];
    expectClose(bench.get(tdx), dx, 3e-5);
    for (const Tensor &t : {tdw, tdwAlone}) {
      Floats actual = bench.get(t);
      Doubles expected = dw;
      // Some of oneDNN's weight gradients multiply the padding, too, so that
      // one NaN reaches more weights; none may be missing.
      for (size_t k = 0; poisoned && k < dw.size(); ++k)
        if (std::isnan(actual[k]))
          expected[k] = NAN;
      expectClose(actual, expected, 3e-5);
    }
    expectClose(bench.get(tdb), db);
    expectClose(bench.get(tdbAlone), db);
  }
}

/// A page behind the workspace stops who writes past it; what is asked for and
/// what is written depend on shape, threads and the processor's vectors.
TEST(ConvolutionWorkspace, NobodyWritesPastTheEnd) {
  for (int threads : {1, 2, 4})
    for (int64_t kernel : {1, 3})
      for (int64_t stride : {1, 2, 3}) {
        Workbench bench(threads);
        ConvParams strided = params({stride, stride}, {0, 0, 0, 0});
        for (int64_t inputs : {1, 3, 8, 15, 17, 32})
          for (int64_t outputs : {1, 5, 16, 20}) {
            int64_t extent = (12 - kernel) / stride + 1;
            Dims dims = {3, outputs, extent, extent};
            Tensor x = bench.tensor({3, inputs, 12, 12});
            Tensor w = bench.tensor({outputs, inputs, kernel, kernel});
            Tensor y = bench.tensor(dims);
            // A sequence each, so that the one that fails is known.
            bench.run([&](Lane &lane) { conv(lane, y, x, w, {}, strided); });
            bench.run(
                [&](Lane &lane) { conv_grad_input(lane, x, y, w, strided); });
            bench.run([&](Lane &lane) {
              conv_grad_weight(lane, w, {}, y, x, strided);
            });
          }
      }
}

INSTANTIATE_TEST_SUITE_P(Grid, ConvolutionTest, testing::ValuesIn(convCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace

//===- PoolTest.cpp - Pooling against loops ---------------------*- C++ -*-===//
//
// Max and average pooling and their gradients over windows that overlap, leave
// gaps, are dilated, padded unevenly and overhang the end.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/PoolBody.h"

using namespace lwcc::rt;

namespace {

struct PoolCase {
  const char *name;
  int64_t n, c, h, w;
  Pair kernel, stride;
  Quad pad;
  Pair dilation;
  Pair out; ///< given, since ceil_mode is resolved into it

  Dims inDims() const { return {n, c, h, w}; }
  Dims outDims() const { return {n, c, out[0], out[1]}; }
  bool manyTaps() const { return kernel[0] * kernel[1] > 256; }

  /// Calls visit(output, input or -1, tap, whether the tap lies in the padded
  /// input) for every tap, by output and then row-major.
  template <typename Visit>
  void forEachTap(const Visit &visit) const {
    for (int64_t i = 0; i < n * c; ++i)
      for (int64_t oh = 0; oh < out[0]; ++oh)
        for (int64_t ow = 0; ow < out[1]; ++ow)
          for (int64_t y = 0; y < kernel[0]; ++y)
            for (int64_t x = 0; x < kernel[1]; ++x) {
              int64_t ih = oh * stride[0] - pad[0] + y * dilation[0];
              int64_t iw = ow * stride[1] - pad[1] + x * dilation[1];
              bool inside = ih >= 0 && ih < h && iw >= 0 && iw < w;
              visit((i * out[0] + oh) * out[1] + ow,
                    inside ? (i * h + ih) * w + iw : -1, y * kernel[1] + x,
                    ih < h + pad[2] && iw < w + pad[3]);
            }
  }
};

/// The gradient as CUDA's threads gather it: gather(row, column, first element
/// of the channel's output, sum) for every element of dx, which must equal what
/// the CPU scattered, bit for bit.
template <typename Gather>
void expectGathered(const PoolGeometry &g, const Tensor &dx,
                    const Gather &gather) {
  for (int n = 0; n < g.images; ++n)
    for (int c = 0; c < g.channels; ++c)
      for (int ih = 0; ih < g.h.in; ++ih)
        for (int iw = 0; iw < g.w.in; ++iw) {
          float sum[1];
          gather(ih, iw, n * g.outImage + c, sum);
          ASSERT_EQ(dx.as<const float>()[n * g.inImage + ih * g.inRow +
                                         iw * g.inColumn + c],
                    sum[0]);
        }
}

class PoolTest : public testing::TestWithParam<PoolCase> {};

TEST_P(PoolTest, Max) {
  for (bool poisoned : {false, true}) {
    const PoolCase &p = GetParam();
    Workbench bench;
    MaxPoolParams params{.dilation = p.dilation,
                         .kernel = p.kernel,
                         .pad = p.pad,
                         .stride = p.stride};
    Floats x = poisonedIf(poisoned, randomValues(product(p.inDims()), 1));
    for (float &v : x) // ties
      v = std::round(v * 4) / 4;
    Floats dy = randomValues(product(p.outDims()), 2);
    Tensor tx = bench.tensor(p.inDims(), x), ty = bench.tensor(p.outDims());
    Tensor index =
        bench.tensor(p.outDims(), p.manyTaps() ? DType::i32 : DType::u8);
    Tensor tdy = bench.tensor(p.outDims(), dy), tdx = bench.tensor(p.inDims());
    Tensor unindexed = bench.tensor(p.outDims());
    bench.run([&](Lane &lane) {
      max_pool(lane, ty, index, tx, params);
      max_pool_grad(lane, tdx, tdy, index, params);
      max_pool(lane, unindexed, Tensor{}, tx, params);
    });

    Doubles y(product(p.outDims()), -INFINITY), dx(x.size());
    std::vector<int32_t> taps(y.size(), -1);
    std::vector<int64_t> winner(y.size(), -1);
    p.forEachTap([&](int64_t o, int64_t i, int64_t tap, bool) {
      if (i >= 0 && (winner[o] < 0 || x[i] > y[o] || std::isnan(x[i]))) {
        y[o] = x[i];
        taps[o] = static_cast<int32_t>(tap);
        winner[o] = i;
      }
    });
    for (size_t o = 0; o < y.size(); ++o)
      dx[winner[o]] += dy[o];
    expectClose(bench.get(ty), y, 0);
    expectClose(bench.get(unindexed), y, 0);
    EXPECT_EQ(bench.getInts(index), taps);
    expectClose(bench.get(tdx), dx);
    PoolGeometry g = poolGeometry(tdx, tdy, params);
    expectGathered(g, tdx, [&](int ih, int iw, int64_t at, float (&sum)[1]) {
      const float *from = tdy.as<const float>() + at;
      if (p.manyTaps())
        maxPoolGradAt<1>(g, from, index.as<const int32_t>() + at, ih, iw, sum);
      else
        maxPoolGradAt<1>(g, from, index.as<const uint8_t>() + at, ih, iw, sum);
    });
  }
}

TEST_P(PoolTest, Average) {
  const PoolCase &p = GetParam();
  for (auto [countPad, poisoned] :
       {std::pair(false, false), std::pair(true, false),
        std::pair(true, true)}) {
    Workbench bench;
    AvgPoolParams params{.count_include_pad = countPad,
                         .dilation = p.dilation,
                         .kernel = p.kernel,
                         .pad = p.pad,
                         .stride = p.stride};
    Floats x = poisonedIf(poisoned, randomValues(product(p.inDims()), 1));
    Floats dy = randomValues(product(p.outDims()), 2);
    Tensor tx = bench.tensor(p.inDims(), x), ty = bench.tensor(p.outDims());
    Tensor tdy = bench.tensor(p.outDims(), dy), tdx = bench.tensor(p.inDims());
    bench.run([&](Lane &lane) {
      avg_pool(lane, ty, tx, params);
      avg_pool_grad(lane, tdx, tdy, params);
    });

    Doubles y(product(p.outDims())), dx(x.size());
    std::vector<int64_t> divisor(y.size());
    p.forEachTap(
        [&, countPad = countPad](int64_t o, int64_t i, int64_t, bool inPadded) {
          y[o] += i >= 0 ? x[i] : 0;
          divisor[o] += countPad ? inPadded : i >= 0;
        });
    p.forEachTap([&](int64_t o, int64_t i, int64_t, bool) {
      if (i >= 0)
        dx[i] += double(dy[o]) / divisor[o];
    });
    for (size_t o = 0; o < y.size(); ++o)
      y[o] /= divisor[o];
    expectClose(bench.get(ty), y);
    expectClose(bench.get(tdx), dx);
    PoolGeometry g = poolGeometry(tdx, tdy, params);
    g.countPad = countPad;
    expectGathered(g, tdx, [&](int ih, int iw, int64_t at, float (&sum)[1]) {
      avgPoolGradAt<1>(g, tdy.as<const float>() + at, ih, iw, sum);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, PoolTest,
    testing::Values(
        PoolCase{"AlexNet",
                 2,
                 64,
                 13,
                 13,
                 {3, 3},
                 {2, 2},
                 {0, 0, 0, 0},
                 {1, 1},
                 {6, 6}},
        PoolCase{
            "LeNet", 2, 6, 8, 8, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, {4, 4}},
        PoolCase{"ResNet",
                 1,
                 20,
                 11,
                 9,
                 {3, 3},
                 {2, 2},
                 {1, 1, 1, 1},
                 {1, 1},
                 {6, 5}},
        PoolCase{"CeilOverhang",
                 1,
                 5,
                 6,
                 7,
                 {3, 2},
                 {2, 3},
                 {0, 0, 0, 0},
                 {1, 1},
                 {3, 3}},
        PoolCase{"AsymmetricPad",
                 2,
                 3,
                 5,
                 6,
                 {3, 3},
                 {1, 2},
                 {2, 0, 0, 1},
                 {1, 1},
                 {5, 3}},
        PoolCase{"PaddedOverhang",
                 1,
                 17,
                 7,
                 7,
                 {3, 3},
                 {2, 2},
                 {0, 1, 1, 1},
                 {1, 1},
                 {4, 4}},
        PoolCase{
            "Gaps", 1, 4, 9, 10, {2, 2}, {3, 4}, {0, 0, 0, 0}, {1, 1}, {3, 3}},
        PoolCase{"Dilated",
                 1,
                 8,
                 9,
                 10,
                 {2, 3},
                 {2, 1},
                 {1, 1, 1, 1},
                 {3, 2},
                 {4, 8}},
        PoolCase{"Global",
                 2,
                 33,
                 6,
                 5,
                 {6, 5},
                 {1, 1},
                 {0, 0, 0, 0},
                 {1, 1},
                 {1, 1}},
        PoolCase{"ManyTaps",
                 1,
                 5,
                 17,
                 18,
                 {17, 17},
                 {1, 1},
                 {0, 0, 0, 0},
                 {1, 1},
                 {1, 2}}),
    [](const auto &info) { return info.param.name; });

TEST(PoolTest, MaxPropagatesNaN) {
  Workbench bench;
  Floats x = {1, 2, NAN, 0, 3, 4, 5, 6};
  Tensor tx = bench.tensor({1, 1, 2, 4}, x), ty = bench.tensor({1, 1, 1, 2});
  Tensor index = bench.tensor({1, 1, 1, 2}, DType::u8);
  bench.run([&](Lane &lane) {
    max_pool(lane, ty, index, tx, {.kernel = {2, 2}, .stride = {2, 2}});
  });
  Floats y = bench.get(ty);
  EXPECT_EQ(y[0], 4.0f);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(bench.getInts(index)[1], 0);
}

} // namespace

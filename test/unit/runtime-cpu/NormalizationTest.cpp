//===- NormalizationTest.cpp - Batches, rows, responses ---------*- C++ -*-===//
//
// Statistics and rows are compared with two passes in double, also where the
// mean is large against the deviation; the gradient of LRN with finite
// differences.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/LrnBody.h"

using namespace lwcc::rt;

namespace {

struct StatsCase {
  const char *name;
  Dims dims;
  float offset; ///< added to every value
};

class BatchNormTest : public testing::TestWithParam<StatsCase> {
protected:
  /// Channel of a logical element.
  int64_t channelOf(int64_t i) const {
    const Dims &dims = GetParam().dims;
    int64_t inner = 1;
    for (size_t d = 2; d < dims.size(); ++d)
      inner *= dims[d];
    return i / inner % dims[1];
  }
};

TEST_P(BatchNormTest, Statistics) {
  for (bool poisoned : {false, true}) {
    const StatsCase &p = GetParam();
    Workbench bench;
    int64_t c = p.dims[1], rows = product(p.dims) / c;
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = x[i] * (1 + channelOf(i) % 3) + p.offset;
    Tensor mean = bench.tensor({c}), var = bench.tensor({c});
    Tensor invstd = bench.tensor({c}), tx = bench.tensor(p.dims, x);
    bench.run([&](Lane &lane) {
      batch_norm_stats(lane, mean, var, invstd, tx, {.epsilon = 1e-3f});
    });

    Doubles m(c), v(c), s(c);
    for (size_t i = 0; i < x.size(); ++i)
      m[channelOf(i)] += double(x[i]) / rows;
    for (size_t i = 0; i < x.size(); ++i)
      v[channelOf(i)] += std::pow(x[i] - m[channelOf(i)], 2) / rows;
    for (int64_t k = 0; k < c; ++k)
      s[k] = 1 / std::sqrt(v[k] + 1e-3f);
    expectClose(bench.get(mean), m, 1e-6);
    expectClose(bench.get(var), v, 2e-6);
    expectClose(bench.get(invstd), s, 2e-6);
  }
}

TEST_P(BatchNormTest, GradientSums) {
  for (bool poisoned : {false, true}) {
    const StatsCase &p = GetParam();
    Workbench bench;
    int64_t c = p.dims[1];
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1)),
           dy = randomValues(x.size(), 2);
    Floats mean = randomValues(c, 3), invstd = randomValues(c, 4);
    Tensor dscale = bench.tensor({c}), dbias = bench.tensor({c});
    bench.run([&](Lane &lane) {
      batch_norm_grad_stats(lane, dscale, dbias, bench.tensor(p.dims, dy),
                            bench.tensor(p.dims, x), bench.tensor({c}, mean),
                            bench.tensor({c}, invstd), {});
    });
    Doubles scale(c), bias(c);
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t k = channelOf(i);
      bias[k] += dy[i];
      scale[k] += double(dy[i]) * (double(x[i]) - mean[k]) * invstd[k];
    }
    expectClose(bench.get(dbias), bias, 5e-6);
    expectClose(bench.get(dscale), scale, 5e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, BatchNormTest,
    testing::Values(StatsCase{"Small", {2, 3, 4, 5}, 0},
                    StatsCase{"ManyRows", {8, 16, 28, 28}, 0},
                    StatsCase{"LargeMean", {4, 8, 16, 16}, 1000},
                    StatsCase{"ManyChannels", {3, 515, 2, 2}, 0},
                    StatsCase{"Features", {37, 70}, 0},
                    StatsCase{"Sequence", {5, 6, 41}, 0},
                    StatsCase{"OneRow", {1, 5}, 0},
                    StatsCase{"Volume", {2, 3, 4, 5, 6}, 0}),
    [](const auto &info) { return info.param.name; });

TEST(BatchNormTest, ThreadsDoNotChangeTheResult) {
  Floats reference;
  for (int threads : {1, 2, 5}) {
    Workbench bench(threads);
    Floats x = randomValues(8 * 40 * 20 * 20, 1);
    Tensor mean = bench.tensor({40}), var = bench.tensor({40});
    Tensor tx = bench.tensor({8, 40, 20, 20}, x);
    bench.run([&](Lane &lane) {
      batch_norm_stats(lane, mean, var, Tensor{}, tx, {});
    });
    Floats result = bench.get(var);
    if (reference.empty())
      reference = result;
    EXPECT_EQ(result, reference);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

struct RowsCase {
  const char *name;
  Dims dims;
  float offset; ///< added to every value
};

class LayerNormTest
    : public testing::TestWithParam<std::tuple<RowsCase, bool>> {};

TEST_P(LayerNormTest, ForwardAndGradient) {
  for (bool poisoned : {false, true}) {
    auto [p, center] = GetParam();
    Workbench bench;
    int64_t n = p.dims.back(), rows = product(p.dims) / n;
    Dims per = p.dims;
    per.back() = 1;
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1)),
           dy = randomValues(x.size(), 2);
    for (float &v : x)
      v += p.offset;
    Tensor tx = bench.tensor(p.dims, x), tdy = bench.tensor(p.dims, dy);
    Tensor ty = bench.tensor(p.dims), tdx = bench.tensor(p.dims);
    Tensor invstd = bench.tensor(per);
    bench.run([&](Lane &lane) {
      layer_norm(lane, ty, invstd, tx, {.center = center, .epsilon = 1e-3f});
      layer_norm_grad(lane, tdx, tdy, ty, invstd, {.center = center});
    });

    Doubles y(x.size()), dx(x.size()), scale(rows);
    for (int64_t row = 0; row < rows; ++row) {
      double mean = 0, variance = 0, shared = 0, along = 0;
      const int64_t begin = row * n;
      for (int64_t i = begin; center && i < begin + n; ++i)
        mean += double(x[i]) / n;
      for (int64_t i = begin; i < begin + n; ++i)
        variance += std::pow(x[i] - mean, 2) / n;
      scale[row] = 1 / std::sqrt(variance + 1e-3f);
      for (int64_t i = begin; i < begin + n; ++i) {
        y[i] = (x[i] - mean) * scale[row];
        shared += center ? double(dy[i]) / n : 0;
        along += dy[i] * y[i] / n;
      }
      for (int64_t i = begin; i < begin + n; ++i)
        dx[i] = scale[row] * (dy[i] - shared - y[i] * along);
    }
    const double error = 2e-6 * (1 + p.offset);
    expectClose(bench.get(ty), y, error);
    expectClose(bench.get(invstd), scale, error);
    expectClose(bench.get(tdx), dx, 2 * error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, LayerNormTest,
    testing::Combine(testing::Values(RowsCase{"Features", {9, 10}, 0},
                                     RowsCase{"Sequence", {3, 5, 387}, 0},
                                     RowsCase{"Long", {2, 5000}, 0},
                                     RowsCase{"LargeMean", {7, 64}, 100},
                                     RowsCase{"Images", {2, 3, 4, 37}, 0},
                                     RowsCase{"Rows", {2, 3, 1, 5, 37}, 0},
                                     RowsCase{"OneRow", {33}, 0},
                                     RowsCase{"OneElement", {4, 1}, 0}),
                     testing::Bool()),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) +
             (std::get<1>(info.param) ? "Centered" : "");
    });

/// Nor does where the row lies, among how many, or in the memory of what.
TEST(LayerNormTest, ThreadsAndPlacesDoNotChangeTheResult) {
  constexpr int64_t n = 99, rows = 60;
  const Floats x = randomValues(rows * n, 1), dy = randomValues(rows * n, 2);
  auto firstRow = [&](int threads, const Dims &dims, bool inPlace) {
    Workbench bench(threads);
    Dims per = dims;
    per.back() = 1;
    const int64_t count = product(dims);
    Tensor tx = bench.tensor(dims, Floats(x.begin(), x.begin() + count));
    Tensor tdy = bench.tensor(dims, Floats(dy.begin(), dy.begin() + count));
    Tensor ty = bench.tensor(dims), tdx = bench.tensor(dims);
    Tensor invstd = bench.tensor(per);
    Sequence *s = bench.machine->record("test", [&] {
      Lane &lane = bench.machine->lane(0);
      layer_norm(lane, ty, invstd, tx, {});
      layer_norm_grad(lane, tdx, tdy, ty, invstd, {});
      if (inPlace) {
        layer_norm(lane, tx, Tensor{}, tx, {});
        layer_norm_grad(lane, tdy, tdy, ty, invstd, {});
        layer_norm_grad(lane, ty, bench.tensor(dims, bench.get(tdy)), ty,
                        invstd, {});
      }
    });
    bench.machine->run(s);
    bench.machine->synchronize();
    if (inPlace) {
      EXPECT_EQ(bench.get(tdy), bench.get(tdx));
      EXPECT_EQ(bench.get(ty), bench.get(tdx));
    }
    Floats result = bench.get(inPlace ? tx : ty), dx = bench.get(tdx);
    result.resize(n);
    result.insert(result.end(), dx.begin(), dx.begin() + n);
    return result;
  };
  const Floats expected = firstRow(1, {rows, n}, false);
  for (int threads : {1, 2, 5}) {
    EXPECT_EQ(firstRow(threads, {rows, n}, false), expected);
    EXPECT_EQ(firstRow(threads, {5, 12, n}, true), expected);
    EXPECT_EQ(firstRow(threads, {2, 3, 4, n}, false), expected);
    EXPECT_EQ(firstRow(threads, {1, n}, false), expected);
  }
}

//===----------------------------------------------------------------------===//
// LRN
//===----------------------------------------------------------------------===//

Doubles lrnReference(const Doubles &x, const Dims &dims, const LrnParams &p) {
  int64_t c = dims[1], inner = dims[2] * dims[3];
  Doubles y(x.size());
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t k = 0; k < c; ++k)
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (int64_t d = std::max<int64_t>(k - (p.size - 1) / 2, 0);
             d <= std::min(k + p.size / 2, c - 1); ++d)
          sum += std::pow(x[(n * c + d) * inner + i], 2);
        int64_t at = (n * c + k) * inner + i;
        y[at] = x[at] * std::pow(p.bias + p.alpha / p.size * sum, -p.beta);
      }
  return y;
}

class LrnTest : public testing::TestWithParam<LrnParams> {};

TEST_P(LrnTest, ForwardAndGradient) {
  LrnParams p = GetParam();
  Workbench bench;
  Dims dims = {2, 11, 3, 2};
  Floats x = randomValues(product(dims), 1), dy = randomValues(x.size(), 2);
  Tensor tx = bench.tensor(dims, x), tdy = bench.tensor(dims, dy);
  Tensor ty = bench.tensor(dims), tdx = bench.tensor(dims);
  bench.run([&](Lane &lane) {
    lrn(lane, ty, tx, p);
    lrn_grad(lane, tdx, tdy, tx, p);
  });
  Doubles exact(x.begin(), x.end());
  expectClose(bench.get(ty), lrnReference(exact, dims, p), 2e-6);

  Doubles dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double h = 1e-5;
    Doubles up = exact, down = exact;
    up[i] += h;
    down[i] -= h;
    Doubles yUp = lrnReference(up, dims, p),
            yDown = lrnReference(down, dims, p);
    for (size_t o = 0; o < x.size(); ++o)
      dx[i] += dy[o] * (yUp[o] - yDown[o]) / (2 * h);
  }
  expectClose(bench.get(tdx), dx, 5e-6);
}

/// The operator computes rows of channels; a CUDA thread computes one element
/// with the bodies. Both must be the same arithmetic.
TEST_P(LrnTest, BodiesGiveTheSameBits) {
  LrnGeometry g = lrnGeometry(13, GetParam());
  Workbench bench;
  Floats x = randomValues(13, 1), dy = randomValues(13, 2);
  Tensor tx = bench.tensor({1, 13, 1, 1}, x);
  Tensor tdy = bench.tensor({1, 13, 1, 1}, dy);
  Tensor ty = bench.tensor({1, 13, 1, 1}), tdx = bench.tensor({1, 13, 1, 1});
  bench.run([&](Lane &lane) {
    lrn(lane, ty, tx, GetParam());
    lrn_grad(lane, tdx, tdy, tx, GetParam());
  });
  Floats y = bench.get(ty), dx = bench.get(tdx);
  for (int c = 0; c < 13; ++c) {
    EXPECT_EQ(y[c], lrnAt(g, x.data(), c));
    EXPECT_EQ(dx[c], lrnGradAt(g, dy.data(), x.data(), c, [&](int d) {
                return lrnRatio(g, dy.data(), x.data(), d);
              }));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, LrnTest,
    testing::Values(
        LrnParams{},
        LrnParams{.alpha = 0.5f, .beta = 0.75f, .bias = 2, .size = 5},
        LrnParams{.alpha = 1.0f, .beta = 0.6f, .bias = 1, .size = 4},
        LrnParams{.alpha = 0.9f, .beta = 1, .bias = 1, .size = 1},
        LrnParams{.alpha = 2.0f, .beta = 0.5f, .bias = 1, .size = 30}));

} // namespace

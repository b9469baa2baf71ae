//===- MapTest.cpp - Generated elementwise kernels --------------*- C++ -*-===//
//
// Broadcasting, logical indices, operation in place, and that a kernel known at
// compile time and one behind mapBlocks compute the same bits.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Map.h"
#include "Workbench.h"

#include <bit>
#include <cmath>

using namespace lwcc::rt;

namespace {

struct Affine { // x0 * x1 + x2
  static constexpr int inputs = 3;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1,
                          float x2) {
    return x0 * x1 + x2;
  }
};

struct Index { // the logical index itself
  static constexpr int inputs = 0;
  static constexpr bool indexed = true;
  LWCC_HD static float at(const StepScalars &, uint64_t i) {
    return static_cast<float>(i);
  }
};

struct Dropout {
  static constexpr int inputs = 1;
  static constexpr bool indexed = true;
  LWCC_HD static float at(const StepScalars &s, uint64_t i, float x0) {
    return max(x0, 0.0f) * dropout_mask(s, i, 0.3f, 77u);
  }
};

struct Rate {
  static constexpr int inputs = 1;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &s, uint64_t, float x0) {
    return s.lr * sigmoid(x0);
  }
};

struct Pick { // of an integer, a byte and a float, stored as an integer
  static constexpr int inputs = 3;
  static constexpr bool indexed = false;
  using Elements = MapElements<int32_t, int32_t, uint8_t, float>;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1,
                          float x2) {
    return (x0 + x1) * x2;
  }
};

struct ToBytes {
  static constexpr int inputs = 1;
  static constexpr bool indexed = false;
  using Elements = MapElements<uint8_t, float>;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0) {
    return x0;
  }
};

struct BroadcastCase {
  const char *name;
  Dims y, x0, x1, x2;
};
class MapTest : public testing::TestWithParam<BroadcastCase> {};

/// Element of x that y's element `i` sees.
int64_t broadcastIndex(const Dims &y, const Dims &x, int64_t i) {
  int64_t at = 0, next = 1;
  for (size_t d = y.size(); d-- > 0;) {
    int64_t index = i % y[d];
    i /= y[d];
    size_t missing = y.size() - x.size();
    if (d < missing)
      continue;
    at += x[d - missing] == 1 ? 0 : index * next;
    next *= x[d - missing];
  }
  return at;
}

TEST_P(MapTest, Broadcasts) {
  const BroadcastCase &p = GetParam();
  Workbench bench;
  Floats x0 = randomValues(product(p.x0), 1),
         x1 = randomValues(product(p.x1), 2);
  Floats x2 = randomValues(product(p.x2), 3), expected(product(p.y));
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = Affine::at({}, 0, x0[broadcastIndex(p.y, p.x0, i)],
                             x1[broadcastIndex(p.y, p.x1, i)],
                             x2[broadcastIndex(p.y, p.x2, i)]);
  Tensors xs = {bench.tensor(p.x0, x0), bench.tensor(p.x1, x1),
                bench.tensor(p.x2, x2)};
  Tensor compiled = bench.tensor(p.y), interpreted = bench.tensor(p.y);
  bench.run([&](Lane &lane) {
    map<Affine>(lane, compiled, xs);
    mapBlocks(lane, "map", interpreted, xs, {}, {}, [](const MapBlock &b) {
      ASSERT_EQ(b.rows, 1);
      auto x = [&](int k, int64_t i) {
        return static_cast<const float *>(b.x[k])[i * b.xStride[k]];
      };
      for (int64_t i = 0; i < b.n; ++i)
        static_cast<float *>(b.y)[i * b.yStride] =
            Affine::at(*b.scalars, 0, x(0, i), x(1, i), x(2, i));
    });
  });
  EXPECT_EQ(bench.get(compiled), expected);
  EXPECT_EQ(bench.get(interpreted), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, MapTest,
    testing::Values(
        BroadcastCase{
            "Same", {2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}},
        BroadcastCase{
            "Channels", {2, 7, 9, 5}, {2, 7, 9, 5}, {1, 7, 1, 1}, {7, 1, 1}},
        BroadcastCase{
            "ManyChannels", {2, 300, 3, 3}, {2, 300, 3, 3}, {300, 1, 1}, {1}},
        BroadcastCase{
            "Pixels", {2, 7, 3, 5}, {2, 7, 3, 5}, {2, 1, 3, 5}, {2, 7, 1, 1}},
        BroadcastCase{"Width", {2, 7, 3, 5}, {5}, {3, 1}, {2, 7, 3, 5}},
        BroadcastCase{"Scalars", {4, 6}, {}, {1}, {4, 6}},
        BroadcastCase{"Rows", {40, 600}, {40, 600}, {40, 1}, {600}},
        BroadcastCase{"Outer", {6, 5}, {6, 1}, {1, 5}, {}},
        BroadcastCase{"Large",
                      {3, 16, 64, 64},
                      {3, 16, 64, 64},
                      {16, 1, 1},
                      {3, 16, 64, 64}},
        BroadcastCase{"Vector", {100001}, {100001}, {1}, {100001}},
        BroadcastCase{"Scalar", {}, {}, {}, {}}),
    [](const auto &info) { return info.param.name; });

TEST(MapTest, LogicalIndex) {
  for (const Dims &dims : {Dims{2, 3, 5, 7}, Dims{600, 11}, Dims{9}, Dims{},
                           Dims{2, 40, 30, 20}}) {
    Workbench bench;
    Tensor y = bench.tensor(dims);
    bench.run([&](Lane &lane) { map<Index>(lane, y, {}); });
    Floats actual = bench.get(y);
    for (size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(actual[i], static_cast<float>(i));
  }
}

TEST(MapTest, DropoutInPlaceIsKeyedByLogicalIndexAndStep) {
  Workbench bench;
  Dims dims = {3, 20, 9, 11};
  Floats x = randomValues(product(dims), 1);
  StepScalars s;
  s.seed = 0x123456789abcdefull;
  Tensor scalars = bench.tensor({64}, DType::u8);
  Tensor tx = bench.tensor(dims);
  Sequence *sequence = bench.machine->record(
      "step", [&] { map<Dropout>(bench.machine->lane(0), tx, {tx}, scalars); });
  for (s.step = 1; s.step <= 2; ++s.step) {
    bench.set(tx, x);
    bench.machine->write(scalars, 0, &s);
    bench.machine->run(sequence);
    Floats expected(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      expected[i] = Dropout::at(s, i, x[i]);
    EXPECT_EQ(bench.get(tx), expected);
  }
}

TEST(MapTest, ScalarsWithoutIndex) {
  Workbench bench;
  StepScalars s;
  s.lr = 0.125f;
  Floats x = randomValues(1000, 1), expected(1000);
  Tensor scalars = bench.tensor({64}, DType::u8), y = bench.tensor({10, 100});
  bench.machine->write(scalars, 0, &s);
  bench.run([&](Lane &lane) {
    map<Rate>(lane, y, {bench.tensor({10, 100}, x)}, scalars);
  });
  for (size_t i = 0; i < x.size(); ++i)
    expected[i] = Rate::at(s, 0, x[i]);
  EXPECT_EQ(bench.get(y), expected);
}

TEST(MapTest, LoadsAndStoresTheTypesOfItsTensors) {
  for (const Dims &dims : {Dims{2, 3, 5, 7}, Dims{700, 3}, Dims{}}) {
    Workbench bench;
    int64_t n = product(dims);
    std::vector<int32_t> a(n), expected(n);
    std::vector<uint8_t> b(n);
    Floats c = randomValues(n, 1);
    for (int64_t i = 0; i < n; ++i) {
      a[i] = static_cast<int32_t>(i % 31 - 15);
      b[i] = static_cast<uint8_t>(250 + i % 6);
      expected[i] = static_cast<int32_t>(
          (static_cast<float>(a[i]) + static_cast<float>(b[i])) * c[i]);
    }
    Tensor ta = bench.labels(dims, a), tb = bench.tensor(dims, DType::u8),
           tc = bench.tensor(dims, c), y = bench.tensor(dims, DType::i32);
    bench.machine->write(tb, 0, b.data());
    bench.run([&](Lane &lane) { map<Pick>(lane, y, {ta, tb, tc}); });
    EXPECT_EQ(bench.getInts(y), expected);
  }
}

TEST(MapTest, StoresTheNearestIntegerThereIs) {
  Workbench bench;
  Tensor y = bench.tensor({7}, DType::u8);
  bench.run([&](Lane &lane) {
    map<ToBytes>(
        lane, y,
        {bench.tensor({7}, Floats{-3, -0.5f, 0.9f, 7.99f, 255.5f, 1e9f, NAN})});
  });
  EXPECT_EQ(bench.getInts(y), (std::vector<int32_t>{0, 0, 0, 7, 255, 255, 0}));
  EXPECT_EQ(storedAs<int32_t>(3e9f), INT32_MAX);
  EXPECT_EQ(storedAs<int32_t>(-3e9f), INT32_MIN);
  EXPECT_EQ(storedAs<int32_t>(-2.9f), -2);
}

/// Emitted kernels and lwcc-run's interpreter call these.
TEST(MathTest, NaNIsNeverSwallowed) {
  for (auto f :
       {lwcc::rt::abs,  lwcc::rt::exp,   lwcc::rt::log,     lwcc::rt::sqrt,
        lwcc::rt::tanh, lwcc::rt::erf,   lwcc::rt::floor,   lwcc::rt::sin,
        lwcc::rt::cos,  lwcc::rt::round, lwcc::rt::sigmoid, lwcc::rt::tan,
        lwcc::rt::asin, lwcc::rt::acos,  lwcc::rt::atan,    lwcc::rt::sinh,
        lwcc::rt::cosh, lwcc::rt::asinh, lwcc::rt::acosh,   lwcc::rt::atanh})
    EXPECT_TRUE(std::isnan(f(NAN)));
  for (auto f : {lwcc::rt::max, lwcc::rt::min, lwcc::rt::pow, lwcc::rt::fmod}) {
    EXPECT_TRUE(std::isnan(f(NAN, 2.0f)));
    EXPECT_TRUE(std::isnan(f(2.0f, NAN)));
  }
}

/// By how many units in the last place a function is off at most, of floats of
/// all sizes and signs.
double worstOf(float (*ours)(float), double (*exact)(double)) {
  double worst = 0;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 5003)
    for (uint32_t sign : {0u, 0x80000000u}) {
      const float x = std::bit_cast<float>(bits | sign);
      const double y = exact(x);
      const auto nearest = static_cast<float>(y);
      if (std::isinf(nearest)) {
        EXPECT_EQ(ours(x), nearest) << x;
        continue;
      }
      const float magnitude = std::fabs(nearest);
      const double unit =
          double(std::nextafter(magnitude, INFINITY)) - magnitude;
      worst = std::max(worst, std::fabs(ours(x) - y) / unit);
    }
  return worst;
}

TEST(MathTest, FunctionsWithoutBranchesAreExactToSomeUnits) {
  EXPECT_LE(worstOf(branchless::exp, std::exp), 1.0);
  EXPECT_LE(worstOf(branchless::tanh, std::tanh), 2.0);
  EXPECT_LE(worstOf(branchless::erf, std::erf), 3.0);
}

TEST(MathTest, FunctionsWithoutBranchesHaveTheLibrarysLimits) {
  EXPECT_EQ(branchless::exp(0.0f), 1.0f);
  EXPECT_EQ(branchless::exp(-INFINITY), 0.0f); // a score that is masked
  EXPECT_EQ(branchless::exp(INFINITY), INFINITY);
  for (auto f : {branchless::tanh, branchless::erf}) {
    EXPECT_EQ(f(INFINITY), 1.0f);
    EXPECT_EQ(f(-INFINITY), -1.0f);
    EXPECT_TRUE(std::signbit(f(-0.0f)) && f(-0.0f) == 0.0f);
  }
}

} // namespace

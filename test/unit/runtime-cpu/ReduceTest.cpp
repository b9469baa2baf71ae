//===- ReduceTest.cpp - Sums and means over axes ----------------*- C++ -*-===//
//
// Any set of axes of any rank, kept or dropped, short and long.
//
//===----------------------------------------------------------------------===//

#include "Workbench.h"

using namespace lwcc::rt;

namespace {

struct ReduceCase {
  const char *name;
  Dims dims;
  Dims axes;
};

class ReduceTest
    : public testing::TestWithParam<std::tuple<ReduceCase, bool, bool>> {};

TEST_P(ReduceTest, MatchesReference) {
  for (bool poisoned : {false, true}) {
    auto [p, mean, keep] = GetParam();
    Workbench bench;
    Dims yDims, kept = p.dims;
    for (int64_t axis : p.axes)
      kept[axis] = 1;
    for (size_t d = 0; d < kept.size(); ++d)
      if (keep || std::find(p.axes.begin(), p.axes.end(),
                            static_cast<int64_t>(d)) == p.axes.end())
        yDims.push_back(kept[d]);
    Floats x = poisonedIf(poisoned, randomValues(product(p.dims), 1));
    Tensor y = bench.tensor(yDims), tx = bench.tensor(p.dims, x);
    bench.run([&, mean = mean](Lane &lane) {
      reduce(lane, y, tx, {.axes = p.axes, .mean = mean});
    });

    Doubles expected(product(kept));
    double count = double(product(p.dims)) / product(kept);
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t left = static_cast<int64_t>(i), at = 0, next = 1;
      for (size_t d = p.dims.size(); d-- > 0;) {
        at += kept[d] == 1 ? 0 : left % p.dims[d] * next;
        next *= kept[d];
        left /= p.dims[d];
      }
      expected[at] += x[i] / (mean ? count : 1);
    }
    expectClose(bench.get(y), expected, 3e-6);
  }
}

std::string
reduceName(const testing::TestParamInfo<ReduceTest::ParamType> &info) {
  auto [p, mean, keep] = info.param;
  return std::string(p.name) + (mean ? "Mean" : "Sum") + (keep ? "Keep" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Grid, ReduceTest,
    testing::Combine(
        testing::Values(ReduceCase{"Bias", {65, 300}, {0}},
                        ReduceCase{"Rows", {65, 300}, {1}},
                        ReduceCase{"All", {65, 300}, {0, 1}},
                        ReduceCase{"GlobalPool", {3, 70, 7, 5}, {2, 3}},
                        ReduceCase{"Channels", {4, 20, 33, 31}, {0, 2, 3}},
                        ReduceCase{"OverChannels", {2, 9, 4, 5}, {1}},
                        ReduceCase{"Width", {2, 9, 4, 5}, {3}},
                        ReduceCase{"Height", {2, 9, 4, 5}, {2}},
                        ReduceCase{"LongVector", {65536}, {0}},
                        ReduceCase{"OddLongVector", {70001}, {0}},
                        ReduceCase{"Middle", {4, 5, 6}, {1}},
                        ReduceCase{"Outer", {4, 5, 6}, {0, 2}},
                        ReduceCase{"Nothing", {4, 5, 6}, {}},
                        ReduceCase{"Ones", {1, 1, 1}, {0, 1}},
                        ReduceCase{"Rank5", {2, 3, 4, 5, 6}, {1, 3}}),
        testing::Bool(), testing::Bool()),
    reduceName);

} // namespace

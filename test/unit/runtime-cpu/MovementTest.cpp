//===- MovementTest.cpp - Operators that only move data ---------*- C++ -*-===//
//
// References work on logical indices; tensors of rank 4 are channels-last, so
// every test that mixes ranks also tests the change of layout.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

/// Calls visit(linear index, indices) for every element.
template <typename Visit>
void forEachIndex(const Dims &dims, const Visit &visit) {
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < product(dims); ++i) {
    visit(i, index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

int64_t linear(const Dims &dims, const Dims &index) {
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    at = at * dims[d] + index[d];
  return at;
}

using Shapes = std::pair<Dims, Dims>;
class ReshapeTest : public testing::TestWithParam<Shapes> {};

TEST_P(ReshapeTest, KeepsLogicalOrder) {
  auto [from, to] = GetParam();
  Workbench bench;
  Floats x = randomValues(product(from), 1);
  Tensor y = bench.tensor(to);
  bench.run([&, from = from](Lane &lane) {
    reshape(lane, y, bench.tensor(from, x));
  });
  EXPECT_EQ(bench.get(y), x);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, ReshapeTest,
    testing::Values(Shapes{{2, 3, 4, 5}, {2, 60}}, // flatten
                    Shapes{{2, 60}, {2, 3, 4, 5}},
                    Shapes{{2, 6, 4, 5}, {2, 2, 3, 4, 5}}, // channel shuffle
                    Shapes{{2, 2, 3, 4, 5}, {2, 6, 4, 5}},
                    Shapes{{2, 6, 4, 5}, {2, 3, 8, 5}},
                    Shapes{{2, 6, 4, 5}, {4, 5, 4, 3}}, // nothing in common
                    Shapes{{4, 3}, {3, 4}}, Shapes{{4, 3, 1, 1}, {3, 4}},
                    Shapes{{1, 1, 1, 1}, {}}, Shapes{{7, 256, 1, 1}, {7, 256}},
                    Shapes{{3, 64, 50, 20}, {3, 64, 1000}}));

class TransposeTest : public testing::TestWithParam<Shapes> {};

TEST_P(TransposeTest, PermutesDimensions) {
  auto [from, perm] = GetParam();
  Workbench bench;
  Floats x = randomValues(product(from), 1), expected(x.size());
  Dims to(from.size());
  for (size_t d = 0; d < to.size(); ++d)
    to[d] = from[perm[d]];
  forEachIndex(to, [&, from = from, perm = perm](int64_t i, const Dims &index) {
    Dims source(from.size());
    for (size_t d = 0; d < to.size(); ++d)
      source[perm[d]] = index[d];
    expected[i] = x[linear(from, source)];
  });
  Tensor y = bench.tensor(to);
  bench.run([&, from = from, perm = perm](Lane &lane) {
    transpose(lane, y, bench.tensor(from, x), {.perm = perm});
  });
  EXPECT_EQ(bench.get(y), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, TransposeTest,
    testing::Values(Shapes{{37, 53}, {1, 0}}, Shapes{{2, 3, 4}, {2, 0, 1}},
                    Shapes{{2, 3, 4, 5}, {0, 2, 3, 1}},
                    Shapes{{2, 3, 4, 5}, {3, 1, 0, 2}},
                    Shapes{{2, 3, 4, 5}, {0, 1, 2, 3}},
                    Shapes{{2, 4, 3, 5, 6}, {0, 2, 1, 3, 4}},
                    Shapes{{300, 200}, {1, 0}}, Shapes{{7}, {0}}));

TEST(MovementTest, ConcatAndSplit) {
  for (int64_t axis : {0, 1, 2, 3}) {
    Workbench bench;
    Dims dims = {2, 5, 3, 4};
    std::vector<int64_t> sizes = {1, 4, 2};
    Dims whole = dims;
    whole[axis] = 7;
    Floats x = randomValues(product(whole), 1);
    Tensor tx = bench.tensor(whole, x), back = bench.tensor(whole);
    Tensors parts;
    for (int64_t size : sizes) {
      Dims part = dims;
      part[axis] = size;
      parts.push_back(bench.tensor(part));
    }
    Tensor lone =
        bench.tensor({parts[1].dim.begin(), parts[1].dim.begin() + 4});
    bench.run([&](Lane &lane) {
      split(lane, parts, tx, {.axis = axis, .sizes = sizes});
      split(lane, {Tensor{}, lone, Tensor{}}, tx,
            {.axis = axis, .sizes = sizes});
      concat(lane, back, parts, {.axis = axis});
    });
    EXPECT_EQ(bench.get(back), x);
    EXPECT_EQ(bench.get(lone), bench.get(parts[1]));
    int64_t offset = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      Floats part = bench.get(parts[p]);
      Dims partDims(parts[p].dim.begin(), parts[p].dim.begin() + 4);
      forEachIndex(partDims, [&](int64_t i, Dims index) {
        index[axis] += offset;
        ASSERT_EQ(part[i], x[linear(whole, index)]);
      });
      offset += sizes[p];
    }
  }
}

struct PadCase {
  Dims from, to, low;
};
class PadTest : public testing::TestWithParam<PadCase> {};

TEST_P(PadTest, PlacesAndCrops) {
  const PadCase &p = GetParam();
  Workbench bench;
  Floats x = randomValues(product(p.from), 1), expected(product(p.to), 0.25f);
  forEachIndex(p.to, [&](int64_t i, Dims index) {
    for (size_t d = 0; d < index.size(); ++d) {
      index[d] -= p.low[d];
      if (index[d] < 0 || index[d] >= p.from[d])
        return;
    }
    expected[i] = x[linear(p.from, index)];
  });
  Tensor y = bench.tensor(p.to);
  bench.run([&](Lane &lane) {
    pad(lane, y, bench.tensor(p.from, x), {.low = p.low, .value = 0.25f});
  });
  EXPECT_EQ(bench.get(y), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, PadTest,
    testing::Values(PadCase{{2, 3, 4, 5}, {2, 3, 7, 8}, {0, 0, 1, 2}},
                    PadCase{{2, 3, 4, 5}, {2, 3, 2, 3}, {0, 0, -1, -1}},
                    PadCase{{2, 3, 4, 5}, {3, 5, 6, 4}, {1, 0, 2, -1}},
                    PadCase{{4, 5}, {4, 9}, {0, 4}},
                    PadCase{{4, 5}, {4, 5}, {0, 6}}, // x misses y
                    PadCase{{4}, {3}, {-5}}));

struct SliceCase {
  Dims from, to, start, step;
};
class SliceTest : public testing::TestWithParam<SliceCase> {};

TEST_P(SliceTest, ReadsAndScatters) {
  const SliceCase &p = GetParam();
  Workbench bench;
  Floats x = randomValues(product(p.from), 1),
         dy = randomValues(product(p.to), 2);
  Floats expected(product(p.to)), expectedDx(product(p.from), 0.0f);
  forEachIndex(p.to, [&](int64_t i, Dims index) {
    for (size_t d = 0; d < index.size(); ++d)
      index[d] = p.start[d] + index[d] * p.step[d];
    expected[i] = x[linear(p.from, index)];
    expectedDx[linear(p.from, index)] = dy[i];
  });
  Tensor y = bench.tensor(p.to), dx = bench.tensor(p.from);
  SliceParams params{.start = p.start, .step = p.step};
  bench.run([&](Lane &lane) {
    slice(lane, y, bench.tensor(p.from, x), params);
    slice_grad(lane, dx, bench.tensor(p.to, dy), params);
  });
  EXPECT_EQ(bench.get(y), expected);
  EXPECT_EQ(bench.get(dx), expectedDx);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, SliceTest,
    testing::Values(
        SliceCase{{2, 6, 4, 5}, {2, 3, 2, 5}, {0, 2, 1, 0}, {1, 1, 1, 1}},
        SliceCase{{2, 6, 4, 5}, {2, 3, 2, 2}, {0, 0, 1, 0}, {1, 2, 2, 3}},
        SliceCase{{2, 6, 4, 5}, {2, 6, 4, 5}, {1, 5, 3, 4}, {-1, -1, -1, -1}},
        SliceCase{{9}, {3}, {8}, {-3}},
        SliceCase{{4, 5}, {1, 5}, {2, 0}, {1, 1}}));

TEST(MovementTest, Fill) {
  Workbench bench;
  Tensor image = bench.tensor({2, 3, 4, 5}), scalar = bench.tensor({});
  Tensor large = bench.tensor({100000});
  Tensor ints = bench.tensor({2, 3}, DType::i32);
  Tensor bytes = bench.tensor({7}, DType::u8);
  bench.run([&](Lane &lane) {
    fill(lane, image, {.value = 1.5f});
    fill(lane, scalar, {.value = -2.0f});
    fill(lane, large, {.value = 0.5f});
    fill(lane, ints, {.value = -3.0f});
    fill(lane, bytes, {.value = 200.0f});
  });
  EXPECT_EQ(bench.get(image), Floats(120, 1.5f));
  EXPECT_EQ(bench.get(scalar), Floats(1, -2.0f));
  EXPECT_EQ(bench.get(large), Floats(100000, 0.5f));
  EXPECT_EQ(bench.getInts(ints), std::vector<int32_t>(6, -3));
  EXPECT_EQ(bench.getInts(bytes), std::vector<int32_t>(7, 200));
}

} // namespace

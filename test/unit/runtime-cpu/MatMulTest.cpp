//===- MatMulTest.cpp - Matrix products against loops -----------*- C++ -*-===//
//
// Every rank and transposition, with bias and ReLU. Rank 4 is channels-last in
// memory, so its matrices have no stride of 1. Some are packed since their
// columns would share few sets of a cache.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

struct MatMulCase {
  const char *name;
  Dims batch;
  int64_t m, n, k;
  bool sharedB; ///< b has rank 2
};

class MatMulTest
    : public testing::TestWithParam<std::tuple<MatMulCase, bool, bool, bool>> {
};

TEST_P(MatMulTest, MatchesReference) {
  for (bool poisoned : {false, true}) {
    auto [p, ta, tb, finish] = GetParam();
    Workbench bench;
    auto dims = [&](bool shared, int64_t rows, int64_t columns) {
      Dims d = shared ? Dims() : p.batch;
      d.push_back(rows);
      d.push_back(columns);
      return d;
    };
    Dims aDims = ta ? dims(false, p.k, p.m) : dims(false, p.m, p.k);
    Dims bDims = tb ? dims(p.sharedB, p.n, p.k) : dims(p.sharedB, p.k, p.n);
    Dims cDims = dims(false, p.m, p.n);
    Floats a = poisonedIf(poisoned, randomValues(product(aDims), 1)),
           b = randomValues(product(bDims), 2);
    Floats bias = randomValues(p.n, 3);
    Tensor tc = bench.tensor(cDims);
    Tensor tbias = finish ? bench.tensor({p.n}, bias) : Tensor{};
    bench.run([&, ta = ta, tb = tb, finish = finish](Lane &lane) {
      matmul(lane, tc, bench.tensor(aDims, a), bench.tensor(bDims, b), tbias,
             {.relu = finish, .transpose_a = ta, .transpose_b = tb});
    });

    Doubles c(product(cDims));
    for (int64_t i = 0; i < product(p.batch); ++i) {
      const float *pa = a.data() + i * p.m * p.k;
      const float *pb = b.data() + (p.sharedB ? 0 : i * p.k * p.n);
      for (int64_t row = 0; row < p.m; ++row)
        for (int64_t column = 0; column < p.n; ++column) {
          double sum = finish ? bias[column] : 0.0;
          for (int64_t l = 0; l < p.k; ++l)
            sum += double(pa[ta ? l * p.m + row : row * p.k + l]) *
                   pb[tb ? column * p.k + l : l * p.n + column];
          c[(i * p.m + row) * p.n + column] = finish ? std::max(sum, 0.0) : sum;
        }
    }
    expectClose(bench.get(tc), c);
  }
}

std::string
matMulName(const testing::TestParamInfo<MatMulTest::ParamType> &info) {
  auto [p, ta, tb, finish] = info.param;
  return std::string(p.name) + (ta ? "TransposedA" : "") +
         (tb ? "TransposedB" : "") + (finish ? "BiasRelu" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Grid, MatMulTest,
    testing::Combine(
        testing::Values(MatMulCase{"Rank2", {}, 7, 9, 13, false},
                        MatMulCase{"OneRow", {}, 1, 33, 20, false},
                        MatMulCase{"OneColumn", {}, 12, 1, 5, false},
                        MatMulCase{"OuterProduct", {}, 12, 11, 1, false},
                        MatMulCase{"Rank3", {3}, 6, 5, 8, false},
                        MatMulCase{"Rank3SharedB", {3}, 6, 5, 8, true},
                        MatMulCase{"Rank4", {2, 3}, 5, 4, 6, false},
                        MatMulCase{"Rank4OneChannel", {2, 1}, 5, 4, 6, false},
                        MatMulCase{"Rank4OneColumn", {2, 3}, 5, 1, 6, false},
                        MatMulCase{"Rank4SharedB", {2, 3}, 5, 4, 6, true},
                        MatMulCase{"Rank5", {2, 1, 3}, 4, 7, 2, false},
                        MatMulCase{"Attention", {2, 3, 1}, 5, 4, 6, false},
                        MatMulCase{"CacheSetsOfA", {}, 512, 33, 260, false},
                        MatMulCase{"CacheSetsOfB", {}, 33, 512, 260, false},
                        MatMulCase{"CacheSets", {}, 512, 512, 256, false}),
        testing::Bool(), testing::Bool(), testing::Bool()),
    matMulName);

} // namespace

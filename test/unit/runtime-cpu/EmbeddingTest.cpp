//===- EmbeddingTest.cpp - Rows of a table by their numbers -----*- C++ -*-===//
//
// Against plain loops: rows that are taken often, once and never, numbers from
// the table's end, and numbers of no row.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

struct EmbeddingCase {
  int64_t rows, columns, samples, length;
  bool tables = false; ///< one for each sample
};

class EmbeddingTest : public testing::TestWithParam<EmbeddingCase> {};

/// Numbers of rows, low ones more often, some from the end.
Floats numbers(const EmbeddingCase &p) {
  Floats at = randomValues(p.samples * p.length, 3);
  for (float &v : at) {
    auto row = static_cast<int64_t>(v * v * float(p.rows));
    v = float(v < -0.8f ? row - p.rows : row);
  }
  return at;
}

TEST_P(EmbeddingTest, ForwardAndGradient) {
  EmbeddingCase p = GetParam();
  for (int threads : {1, 3}) {
    Workbench bench(threads);
    Dims dims = {p.rows, p.columns};
    if (p.tables)
      dims.insert(dims.begin(), p.samples);
    const int64_t tables = p.tables ? p.samples : 1;
    Floats table = randomValues(tables * p.rows * p.columns, 1),
           at = numbers(p);
    Floats dy = randomValues(at.size() * p.columns, 2);
    Floats y(dy.size());
    Doubles dtable(table.size());
    for (size_t i = 0; i < at.size(); ++i) {
      int64_t row = int64_t(at[i]) + (at[i] < 0 ? p.rows : 0);
      if (p.tables)
        row += int64_t(i) / p.length * p.rows;
      for (int64_t c = 0; c < p.columns; ++c) {
        y[i * p.columns + c] = table[row * p.columns + c];
        dtable[row * p.columns + c] += dy[i * p.columns + c];
      }
    }
    Tensor tat = bench.tensor({p.samples, p.length}, at);
    Tensor ty = bench.tensor({p.samples, p.length, p.columns});
    Tensor tdtable = bench.tensor(dims);
    bench.run([&](Lane &lane) {
      embedding(lane, ty, bench.tensor(dims, table), tat);
      embedding_grad(lane, tdtable,
                     bench.tensor({p.samples, p.length, p.columns}, dy), tat);
    });
    EXPECT_EQ(bench.get(ty), y);
    Floats found = bench.get(tdtable);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_FLOAT_EQ(found[i], static_cast<float>(dtable[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, EmbeddingTest,
                         testing::Values(EmbeddingCase{1, 1, 1, 1},
                                         EmbeddingCase{7, 5, 3, 11},
                                         EmbeddingCase{300, 64, 4, 9},
                                         EmbeddingCase{5, 130, 6, 50},
                                         EmbeddingCase{4000, 3, 2, 3},
                                         EmbeddingCase{7, 5, 3, 11, true},
                                         EmbeddingCase{40, 70, 4, 90, true}));

TEST(Embedding, NumbersOfNoRowAreSeenAndTakeNothing) {
  Workbench bench;
  Tensor y = bench.tensor({1, 4, 2}), dtable = bench.tensor({3, 2});
  Tensor at = bench.tensor({1, 4}, {3, -4, NAN, 2});
  bench.run([&](Lane &lane) {
    embedding(lane, y, bench.tensor({3, 2}, {1, 2, 3, 4, 5, 6}), at);
    embedding_grad(lane, dtable, bench.tensor({1, 4, 2}, Floats(8, 1.0f)), at);
  });
  Floats found = bench.get(y);
  for (int i = 0; i < 6; ++i)
    EXPECT_TRUE(std::isnan(found[i])) << i;
  EXPECT_EQ(found[6], 5);
  EXPECT_EQ(bench.get(dtable), Floats({0, 0, 0, 0, 1, 1}));
}

} // namespace

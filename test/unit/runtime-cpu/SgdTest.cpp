//===- SgdTest.cpp - SGD's update, and sums ---------------------*- C++ -*-===//
//
// Several steps against torch.optim.SGD's formula with Nesterov's direction,
// and sums. What holds for all optimizers is in UpdatesTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/Scalars.h"

using namespace lwcc::rt;

namespace {

/// The next term of a sum, in the order of the terms.
void addTo(Floats &total, const Floats &term) {
  if (total.empty())
    total = term;
  else
    for (size_t k = 0; k < term.size(); ++k)
      total[k] += term[k];
}

class SgdTest : public testing::TestWithParam<bool> {};

TEST_P(SgdTest, FollowsPyTorchOverSteps) {
  Workbench bench;
  Dims dims = {33, 7, 3, 3};
  Floats w = randomValues(product(dims), 1), g = randomValues(w.size(), 2);
  StepScalars s;
  s.lr = 0.1f;
  s.momentum = 0.9f;
  s.weight_decay = 0.01f;
  s.nesterov = GetParam();
  Tensor tw = bench.tensor(dims, w), tg = bench.tensor(dims, g);
  Tensor tm = bench.tensor(dims, Floats(w.size(), 0.0f));
  Tensor scalars = bench.tensor({64}, DType::u8), loss = bench.tensor({}, {1});
  bench.machine->write(scalars, 0, &s);
  Sequence *step = bench.machine->record("step", [&] {
    sgd(bench.machine->lane(0), tw, tm, tw, tm, scalars, loss, {tg}, {});
  });

  Doubles we(w.begin(), w.end()), me(w.size());
  for (int i = 0; i < 3; ++i) {
    bench.machine->run(step);
    for (size_t k = 0; k < w.size(); ++k) {
      double d = g[k] + s.weight_decay * we[k];
      me[k] = s.momentum * me[k] + d;
      we[k] -= s.lr * (s.nesterov ? d + s.momentum * me[k] : me[k]);
    }
  }
  expectClose(bench.get(tw), we, 1e-6);
  expectClose(bench.get(tm), me, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Nesterov, SgdTest, testing::Bool());

TEST(SumTest, MayOverwriteItsFirstTerm) {
  const int64_t n = 5000;
  for (int64_t count : {1, 2, 3, 6})
    for (int64_t into : {-1, 0}) {
      Workbench bench;
      Floats total;
      Tensors xs;
      for (int64_t i = 0; i < count; ++i) {
        Floats x = randomValues(n, 1 + i);
        addTo(total, x);
        xs.push_back(bench.tensor({n}, x));
      }
      Tensor y = into < 0 ? bench.tensor({n}, Floats(n, 0.0f)) : xs[into];
      // Once: a second run would add to the sum.
      bench.machine->run(bench.machine->record(
          "sum", [&] { sum(bench.machine->lane(0), y, xs); }));
      EXPECT_EQ(bench.get(y), total) << count << " terms into " << into;
    }
}

// Columns of row-major tensors, and pixels of channels-last ones.
TEST(SumTest, AddsPartsWhereTheyAre) {
  struct Case {
    Dims whole, begin, dims;
  };
  for (const Case &c : {Case{{5, 12}, {1, 3}, {3, 4}},
                        Case{{2, 3, 5, 4}, {1, 0, 2, 1}, {1, 3, 2, 3}},
                        Case{{2, 6, 3, 3}, {0, 2, 0, 0}, {2, 3, 3, 3}}}) {
    Workbench bench;
    Tensors parts;
    Floats total;
    for (int64_t i = 0; i < 3; ++i) {
      Tensor whole =
          bench.tensor(c.whole, randomValues(product(c.whole), 1 + i));
      parts.push_back(windowOf(whole, c.begin.data(), c.dims.data()));
      addTo(total, bench.get(parts.back()));
    }
    Tensor y = bench.tensor(c.dims, Floats(total.size(), 0.0f));
    bench.run([&](Lane &lane) { sum(lane, y, parts); });
    EXPECT_EQ(bench.get(y), total);
  }
}

} // namespace

//===- MatMulSgdTest.cpp - A layer's gradients and update in one call -----===//
//
// Against the two products and the update that it stands for, over sizes that
// fill vectors, passes and pieces, and sizes that do not.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/Scalars.h"

using namespace lwcc::rt;

namespace {

struct Case {
  int64_t rows, outputs, inputs;
};

/// What a step makes of the same values.
struct Results {
  Floats w, m, dx;
};

Results step(const Case &c, bool fused, bool wantsInput, float loss,
             int threads) {
  Workbench bench(threads);
  const Dims weights = {c.outputs, c.inputs};
  Floats w = randomValues(product(weights), 1);
  Floats m = randomValues(product(weights), 2);
  StepScalars s;
  s.lr = 0.1f;
  s.momentum = 0.9f;
  s.weight_decay = 0.01f;
  s.nesterov = c.rows % 2;
  Tensor tw = bench.tensor(weights, w), tm = bench.tensor(weights, m);
  Tensor dy =
      bench.tensor({c.rows, c.outputs}, randomValues(c.rows * c.outputs, 3));
  Tensor x =
      bench.tensor({c.rows, c.inputs}, randomValues(c.rows * c.inputs, 4));
  Tensor dx = wantsInput ? bench.tensor({c.rows, c.inputs}) : Tensor{};
  Tensor g = bench.tensor(weights);
  Tensor scalars = bench.tensor({64}, DType::u8),
         guard = bench.tensor({}, {loss});
  bench.machine->write(scalars, 0, &s);
  bench.run([&](Lane &lane) {
    if (fused) {
      matmul_sgd(lane, tw, tm, dx, tw, tm, scalars, guard, dy, x, {});
      return;
    }
    if (wantsInput)
      matmul(lane, dx, dy, tw, {}, {});
    matmul(lane, g, dy, x, {}, {.transpose_a = true});
    sgd(lane, tw, tm, tw, tm, scalars, guard, {g}, {});
  });
  return {bench.get(tw), bench.get(tm), wantsInput ? bench.get(dx) : Floats{}};
}

/// The sums of up to 1,000 products, in two orders.
void expectSame(const Floats &a, const Floats &b) {
  expectClose(a, Doubles(b.begin(), b.end()), 5e-5);
}

TEST(MatMulSgdTest, IsTheProductsAndTheUpdate) {
  for (const Case &c : {Case{1, 1, 1}, Case{8, 8, 32}, Case{8, 24, 4096},
                        Case{3, 10, 17}, Case{16, 33, 100}, Case{9, 7, 3109},
                        Case{11, 1000, 50}, Case{70, 13, 129}})
    for (bool wantsInput : {true, false})
      for (int threads : {1, 2}) {
        SCOPED_TRACE(testing::Message() << c.rows << " " << c.outputs << " "
                                        << c.inputs << " " << wantsInput);
        Results fused = step(c, true, wantsInput, 1, threads);
        Results apart = step(c, false, wantsInput, 1, threads);
        expectSame(fused.w, apart.w);
        expectSame(fused.m, apart.m);
        expectSame(fused.dx, apart.dx);
      }
}

TEST(MatMulSgdTest, ThreadsDoNotChangeBits) {
  Case c{11, 27, 333};
  Results one = step(c, true, true, 1, 1), two = step(c, true, true, 1, 2);
  EXPECT_EQ(one.w, two.w);
  EXPECT_EQ(one.m, two.m);
  EXPECT_EQ(one.dx, two.dx);
}

TEST(MatMulSgdTest, NonFiniteLossUpdatesNothing) {
  Case c{9, 20, 40};
  const int64_t n = c.outputs * c.inputs;
  for (float bad : {NAN, INFINITY}) {
    Results fused = step(c, true, true, bad, 2);
    EXPECT_EQ(fused.w, randomValues(n, 1));
    EXPECT_EQ(fused.m, randomValues(n, 2));
    expectSame(fused.dx, step(c, false, true, bad, 2).dx);
  }
}

} // namespace

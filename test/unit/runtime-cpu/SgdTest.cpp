//===- SgdTest.cpp - The optimizer's update ---------------------*- C++ -*-===//
//
// Several steps against torch.optim.SGD's formula, and the guard.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/Scalars.h"

using namespace lwcc::rt;

namespace {

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
    sgd(bench.machine->lane(0), tw, tm, tw, tg, tm, scalars, loss);
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

TEST(SgdTest, NonFiniteLossChangesNothing) {
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    Workbench bench;
    Floats w = randomValues(100, 1), m = randomValues(100, 2);
    StepScalars s;
    s.lr = s.momentum = 0.5f;
    Tensor tw = bench.tensor({100}, w), tm = bench.tensor({100}, m);
    Tensor tg = bench.tensor({100}, w), loss = bench.tensor({}, {bad});
    Tensor scalars = bench.tensor({64}, DType::u8);
    bench.machine->write(scalars, 0, &s);
    bench.run(
        [&](Lane &lane) { sgd(lane, tw, tm, tw, tg, tm, scalars, loss); });
    EXPECT_EQ(bench.get(tw), w);
    EXPECT_EQ(bench.get(tm), m);
  }
}

} // namespace

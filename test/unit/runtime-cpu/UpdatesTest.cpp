//===- UpdatesTest.cpp - Every optimizer's update ---------------*- C++ -*-===//
//
// All optimizers against plain loops over several steps, with clipped
// gradients, both kinds of weight decay, and a parameter's own scales.
//
//===----------------------------------------------------------------------===//
#include "../runtime-cuda/ops/Updates.h"
#include "Workbench.h"

using namespace lwcc::rt;
using lwcc::check::Update;

namespace {

class UpdatesTest : public testing::TestWithParam<Update> {
protected:
  Workbench bench;
  const Update &row = GetParam();

  /// The tensors of a parameter, and what they start with.
  struct Parameter {
    Tensor w;
    Tensors states;
  };
  Parameter parameter(int64_t n, float state = 0.0f) {
    Parameter p{bench.tensor({n}, randomValues(n, 1)), {}};
    for (size_t k = 0; k < row.states; ++k)
      p.states.push_back(bench.tensor({n}, Floats(n, state)));
    return p;
  }
  void run(int steps, const Parameter &p, const StepScalars &s, float loss,
           const Tensors &gs, const UpdateParams &params = {}) {
    Tensor scalars = bench.tensor({64}, DType::u8),
           guard = bench.tensor({}, {loss});
    bench.machine->write(scalars, 0, &s);
    Sequence *step = bench.machine->record("step", [&] {
      row.append(bench.machine->lane(0), p.w, p.states, scalars, guard, gs,
                 params);
    });
    for (int i = 0; i < steps; ++i)
      bench.machine->run(step);
  }
};

TEST_P(UpdatesTest, FollowsPlainLoopsOverSteps) {
  const int64_t n = 2 * 4096 + 33; // several pieces
  for (const UpdateParams &params :
       {UpdateParams{}, UpdateParams{0.5f, 0.25f}}) {
    Parameter p = parameter(n);
    Floats w = bench.get(p.w), g = randomValues(n, 2);
    StepScalars s = lwcc::check::stepOfUpdate(false);
    run(3, p, s, 1.0f, {bench.tensor({n}, g)}, params);
    s.lr *= params.lr_scale;
    s.weight_decay *= params.decay_scale;
    s.decoupled_decay *= params.decay_scale;
    std::vector<Doubles> states(row.states, Doubles(n));
    Doubles expected(w.begin(), w.end());
    for (int step = 0; step < 3; ++step)
      lwcc::check::stepOf(row, s, {g.begin(), g.end()}, expected, states);
    expectClose(bench.get(p.w), expected, 2e-6);
    for (size_t k = 0; k < row.states; ++k)
      expectClose(bench.get(p.states[k]), states[k], 2e-6);
  }
}

// Bit for bit the update by the gradients' sum.
TEST_P(UpdatesTest, SumsGradientsInTheirOrder) {
  const int64_t n = 5000;
  Floats total(n);
  Tensors gs;
  for (int64_t i = 0; i < 3; ++i) {
    Floats g = randomValues(n, 10 + i);
    for (int64_t k = 0; k < n; ++k)
      total[k] += g[k];
    gs.push_back(bench.tensor({n}, g));
  }
  const StepScalars s = lwcc::check::stepOfUpdate(true);
  Parameter several = parameter(n), one = parameter(n);
  run(1, several, s, 1.0f, gs);
  run(1, one, s, 1.0f, {bench.tensor({n}, total)});
  EXPECT_EQ(bench.get(several.w), bench.get(one.w));
  for (size_t k = 0; k < row.states; ++k)
    EXPECT_EQ(bench.get(several.states[k]), bench.get(one.states[k]));
}

// Also not those of norms, which all threads add to.
TEST_P(UpdatesTest, ThreadsDoNotChangeBits) {
  const int64_t n = 7 * 4096 + 5;
  auto weights = [&](int threads) {
    Workbench own(threads);
    Tensor w = own.tensor({n}, randomValues(n, 1)),
           g = own.tensor({n}, randomValues(n, 2)),
           scalars = own.tensor({64}, DType::u8), loss = own.tensor({}, {1});
    Tensors states(row.states);
    for (Tensor &state : states)
      state = own.tensor({n}, Floats(n, 0.25f));
    const StepScalars s = lwcc::check::stepOfUpdate(false);
    own.machine->write(scalars, 0, &s);
    own.run([&](Lane &lane) {
      row.append(lane, w, states, scalars, loss, {g}, {});
    });
    return own.get(w);
  };
  EXPECT_EQ(weights(1), weights(3));
}

TEST_P(UpdatesTest, NonFiniteLossChangesNothing) {
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    Parameter p = parameter(100, 0.5f);
    Floats before = bench.get(p.w);
    run(1, p, lwcc::check::stepOfUpdate(false), bad,
        {bench.tensor({100}, randomValues(100, 3))});
    EXPECT_EQ(bench.get(p.w), before);
    for (const Tensor &state : p.states)
      EXPECT_EQ(bench.get(state), Floats(100, 0.5f));
  }
}

// NaN is no number that a bound replaces: it shows, as in PyTorch.
TEST_P(UpdatesTest, NaNIsNotClipped) {
  Parameter p = parameter(3);
  run(1, p, lwcc::check::stepOfUpdate(false), 1.0f,
      {bench.tensor({3}, {0.5f, NAN, 0.5f})});
  Floats w = bench.get(p.w);
  EXPECT_TRUE(std::isnan(w[1]));
  EXPECT_FALSE(std::isnan(w[0]) || std::isnan(w[2]));
}

INSTANTIATE_TEST_SUITE_P(All, UpdatesTest,
                         testing::ValuesIn(lwcc::check::updates()),
                         [](const auto &info) { return info.param.name; });

} // namespace

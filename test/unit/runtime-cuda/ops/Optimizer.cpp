//===- Optimizer.cpp - Sums, updates and transfers ------------------------===//
//
// What one step does with gradients: adds up their terms, of whole tensors and
// of parts, updates the weights, and copies them.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"
#include "Updates.h"

#include <cmath>

using namespace lwcc;
using namespace lwcc::check;
using rt::DType;
using rt::Tensor;

/// The sum of tensors of 4 rows, or of three columns of each.
static void checkSum(Bench &bench, int64_t n, int64_t count, bool parts) {
  bench.clear();
  const int64_t columns = parts ? 3 : n, first = parts ? 5 : 0;
  Host y({4, columns});
  rt::Tensors xs;
  for (int64_t t = 0; t < count; ++t) {
    Host x = random({4, n});
    for (int64_t r = 0; r < 4; ++r)
      for (int64_t c = 0; c < columns; ++c)
        y.v[r * columns + c] += x.v[r * n + first + c];
    const int64_t begin[] = {0, first}, dims[] = {4, columns};
    xs.push_back(rt::windowOf(bench.input(x), begin, dims));
  }
  Tensor ty = bench.input(Host({4, columns}));
  bench.run([&](rt::Lane &lane) { sum(lane, ty, xs); });
  bench.expect("sum", ty, y);
}

/// A layer's gradients and update in one call.
static void checkMatMulSgd(Bench &bench, int64_t rows, int64_t outputs,
                           int64_t inputs, bool wantsInput) {
  bench.clear();
  Host w = random({outputs, inputs}), m = random({outputs, inputs});
  Host dy = random({rows, outputs}), x = random({rows, inputs});
  Host dx({rows, inputs});
  rt::StepScalars s;
  s.lr = 0.1f;
  s.momentum = 0.9f;
  s.weight_decay = 0.01f;
  Tensor tw = bench.input(w), tm = bench.input(m), ts = bench.scalars(s),
         tl = bench.input(Host(Dims{}, 1.0)), tdy = bench.input(dy),
         tx = bench.input(x), tdx = wantsInput ? bench.input(dx) : Tensor{};
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i) {
      auto &weight = w.v[o * inputs + i], &momentum = m.v[o * inputs + i];
      double g = s.weight_decay * weight;
      for (int64_t r = 0; r < rows; ++r) {
        g += dy.v[r * outputs + o] * x.v[r * inputs + i];
        dx.v[r * inputs + i] += dy.v[r * outputs + o] * weight;
      }
      momentum = s.momentum * momentum + g;
      weight -= s.lr * momentum;
    }
  bench.run([&](rt::Lane &lane) {
    matmul_sgd(lane, tw, tm, tdx, tw, tm, ts, tl, tdy, tx, {});
  });
  bench.expect("matmul_sgd: weights", tw, w);
  bench.expect("matmul_sgd: momentum", tm, m);
  if (wantsInput)
    bench.expect("matmul_sgd: input's gradient", tdx, dx);
}

/// A parameter's update by one step, with scales of its own.
static void checkUpdate(Bench &bench, const Update &row, int64_t n,
                        int64_t terms, bool nesterov, bool finite) {
  bench.clear();
  Host w = random({n}), gradient({n});
  std::vector<Host> states;
  rt::Tensors gs, ts;
  for (int64_t t = 0; t < terms; ++t) {
    Host g = random({n});
    for (int64_t i = 0; i < n; ++i)
      gradient.v[i] += g.v[i];
    gs.push_back(bench.input(g));
  }
  for (size_t k = 0; k < row.states; ++k) {
    states.push_back(random({n}, 0.0, 1.0));
    ts.push_back(bench.input(states[k]));
  }
  rt::StepScalars s = stepOfUpdate(nesterov);
  Tensor tw = bench.input(w), scalars = bench.scalars(s),
         loss = bench.input(Host(Dims{}, finite ? 1.0 : NAN));
  const rt::UpdateParams params = {0.5f, 0.25f};
  s.lr *= params.lr_scale;
  s.weight_decay *= params.decay_scale;
  s.decoupled_decay *= params.decay_scale;
  if (finite) {
    std::vector<std::vector<double>> values;
    for (const Host &state : states)
      values.push_back(state.v);
    stepOf(row, s, gradient.v, w.v, values);
    for (size_t k = 0; k < row.states; ++k)
      states[k].v = values[k];
  }
  bench.run([&](rt::Lane &lane) {
    row.append(lane, tw, ts, scalars, loss, gs, params);
  });
  const std::string name = row.name;
  bench.expect(name + ": weights", tw, w);
  for (size_t k = 0; k < row.states; ++k)
    bench.expect(name + ": state", ts[k], states[k]);
}

/// Several tensors in one call, each of its own type and shape.
static void checkTransfer(Bench &bench, const std::vector<Dims> &shapes) {
  bench.clear();
  const DType types[] = {DType::f32, DType::i32, DType::u8};
  std::vector<Host> values;
  rt::Tensors xs, ys;
  for (const Dims &dims : shapes) {
    const DType type = types[values.size() % 3];
    values.push_back(randomInts(dims, 0, 255));
    ys.push_back(bench.output(dims, type));
    xs.push_back(bench.input(values.back(), type));
  }
  bench.run([&](rt::Lane &lane) { transfer(lane, ys, xs); });
  for (size_t i = 0; i < ys.size(); ++i)
    bench.expect("transfer", ys[i], values[i]);
}

void check::checkOptimizer(Bench &bench) {
  for (int64_t n : {1024, 37})
    for (int64_t count : {1, 2, 5, 64})
      for (bool parts : {false, true})
        checkSum(bench, n, count, parts);
  for (bool wantsInput : {true, false})
    checkMatMulSgd(bench, 9, 37, 51, wantsInput);
  for (const Update &row : updates())
    for (int64_t n : {1024, 37})
      for (bool nesterov : {false, true})
        for (bool finite : {true, false})
          checkUpdate(bench, row, n, 2, nesterov, finite);
  checkTransfer(bench, {{4096}});
  checkTransfer(bench, {{4, 90}, {8, 3, 20, 20}, {64}, {}, {7}});
}

void check::drawOptimizer(Bench &bench) {
  const bool parts = draw(0, 1);
  const int64_t n = draw(8, 300);
  checkSum(bench, n, draw(1, rt::maxTerms), parts);
  const int64_t rows = draw(1, 20), outputs = draw(1, 60);
  checkMatMulSgd(bench, rows, outputs, draw(1, 60), parts);
  const bool nesterov = draw(0, 1), finite = draw(0, 3);
  const int64_t terms = draw(1, 6);
  const Update &row =
      updates()[draw(0, static_cast<int64_t>(updates().size()) - 1)];
  checkUpdate(bench, row, draw(1, 2000), terms, nesterov, finite);
  std::vector<Dims> shapes(static_cast<size_t>(draw(1, 5)));
  for (Dims &dims : shapes)
    dims = drawDims(0, 5);
  checkTransfer(bench, shapes);
}

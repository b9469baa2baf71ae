//===- Attention.cpp - Attention and its gradient -------------------------===//
//
// With a mask and without, whose hidden keys are left out by the CPU.
//
//===----------------------------------------------------------------------===//

#include "OpsCheck.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace lwcc;
using namespace lwcc::check;
using rt::Tensor;

namespace {
struct AttentionCase {
  int64_t samples, heads, queries, keys, size, valueSize;
  bool masked;
};

/// Of each row of scores, and of each of its elements.
struct Weights {
  Host largest, inverse, weights;

  Weights(const AttentionCase &c, const Host &q, const Host &k,
          const Host &mask, double scale);
};
} // namespace

Weights::Weights(const AttentionCase &c, const Host &q, const Host &k,
                 const Host &mask, double scale)
    : largest({c.samples, c.heads, c.queries}), inverse(largest.dims),
      weights({c.samples, c.heads, c.queries, c.keys}) {
  forEach(largest.dims, [&](const Dims &row) {
    const auto weight = [&](int64_t j) -> double & {
      return weights.at({row[0], row[1], row[2], j});
    };
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      for (int64_t i = row[1] * c.size; i < (row[1] + 1) * c.size; ++i)
        weight(j) += scale * q.at({row[0], row[2], i}) * k.at({row[0], j, i});
      weight(j) += c.masked ? mask.at({row[2], j}) : 0;
      most = std::max(most, weight(j));
    }
    for (int64_t j = 0; j < c.keys; ++j)
      sum += weight(j) = std::exp(weight(j) - most);
    for (int64_t j = 0; j < c.keys; ++j)
      weight(j) /= sum;
    largest.at(row) = most;
    inverse.at(row) = 1 / sum;
  });
}

static void checkOne(Bench &bench, const AttentionCase &c) {
  bench.clear();
  const float scale = 0.75f;
  const Dims queries = {c.samples, c.queries, c.heads * c.size},
             keys = {c.samples, c.keys, c.heads * c.size},
             values = {c.samples, c.keys, c.heads * c.valueSize},
             results = {c.samples, c.queries, c.heads * c.valueSize};
  Host q = random(queries), k = random(keys), v = random(values),
       dy = random(results), mask = random({c.queries, c.keys});
  forEach(mask.dims, [&](const Dims &i) {
    if (i[1] > i[0] + 1)
      mask.at(i) = -std::numeric_limits<float>::infinity();
  });
  const Weights all(c, q, k, mask, scale);
  Host y(results), dq(queries), dk(keys), dv(values), d(all.weights.dims),
      shared(all.largest.dims);
  const auto forEachValue = [&](const auto &f) {
    forEach(d.dims, [&](const Dims &i) {
      for (int64_t e = i[1] * c.valueSize; e < (i[1] + 1) * c.valueSize; ++e)
        f(i, Dims{i[0], i[2], e}, Dims{i[0], i[3], e});
    });
  };
  forEachValue([&](const Dims &i, const Dims &of, const Dims &value) {
    y.at(of) += all.weights.at(i) * v.at(value);
    dv.at(value) += all.weights.at(i) * dy.at(of);
    d.at(i) += dy.at(of) * v.at(value);
  });
  forEach(d.dims, [&](const Dims &i) {
    shared.at({i[0], i[1], i[2]}) += all.weights.at(i) * d.at(i);
  });
  forEach(d.dims, [&](const Dims &i) {
    const double dScore =
        scale * all.weights.at(i) * (d.at(i) - shared.at({i[0], i[1], i[2]}));
    for (int64_t e = i[1] * c.size; e < (i[1] + 1) * c.size; ++e) {
      dq.at({i[0], i[2], e}) += dScore * k.at({i[0], i[3], e});
      dk.at({i[0], i[3], e}) += dScore * q.at({i[0], i[2], e});
    }
  });

  Tensor tq = bench.input(q), tk = bench.input(k), tv = bench.input(v),
         tdy = bench.input(dy);
  Tensor tMask = c.masked ? bench.input(mask) : Tensor{};
  Tensor ty = bench.output(results), alone = bench.output(results),
         largest = bench.output(all.largest.dims),
         inverse = bench.output(all.largest.dims), tdq = bench.output(queries),
         tdk = bench.output(keys), tdv = bench.output(values);
  const rt::AttentionParams params{.heads = c.heads, .scale = scale};
  bench.run([&](rt::Lane &lane) {
    attention(lane, ty, largest, inverse, tq, tk, tv, tMask, params);
    attention(lane, alone, {}, {}, tq, tk, tv, tMask, params);
    attention_grad(lane, tdq, tdk, tdv, tdy, tq, tk, tv, largest, inverse,
                   tMask, params);
  });
  bench.expect("attention", ty, y);
  bench.expect("attention alone", alone, y);
  bench.expect("attention: largest", largest, all.largest);
  bench.expect("attention: inverse", inverse, all.inverse);
  bench.expect("attention_grad: dq", tdq, dq, 1e-4);
  bench.expect("attention_grad: dk", tdk, dk, 1e-4);
  bench.expect("attention_grad: dv", tdv, dv, 1e-4);
}

void check::checkAttention(Bench &bench) {
  for (bool masked : {false, true}) {
    checkOne(bench, {1, 1, 1, 1, 1, 1, masked});
    checkOne(bench, {2, 3, 7, 5, 4, 6, masked});
    checkOne(bench, {1, 2, 70, 150, 33, 8, masked});
  }
}

void check::drawAttention(Bench &bench) {
  const int64_t samples = draw(1, 3), heads = draw(1, 3);
  checkOne(bench, {samples, heads, draw(1, 80), draw(1, 40), draw(1, 9),
                   draw(1, 9), draw(0, 1) > 0});
}

//===- AttentionTest.cpp - Attention against plain loops --------*- C++ -*-===//
//
// Both directions against sums in double: one block of queries and several,
// with fewer features of values than of keys, with a mask and without. What a
// mask hides is left out, but no NaN that is hidden.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"

using namespace lwcc::rt;

namespace {

constexpr float hidden = -std::numeric_limits<float>::infinity();

enum class Masked { no, causal, some };

struct AttentionCase {
  const char *name;
  int64_t samples, heads, queries, keys, size, valueSize;
  Masked masked;

  Dims q() const { return {samples, queries, heads * size}; }
  Dims k() const { return {samples, keys, heads * size}; }
  Dims v() const { return {samples, keys, heads * valueSize}; }
  Dims y() const { return {samples, queries, heads * valueSize}; }
  Floats mask() const {
    Floats mask = randomValues(queries * keys, 5);
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        if (masked == Masked::causal)
          mask[i * keys + j] = j > i ? hidden : 0.0f;
    return mask;
  }
};

constexpr float scale = 0.375f;

/// What attention and its gradient are, in double.
struct Expected {
  Doubles y, largest, inverse, dq, dk, dv;

  Expected(const AttentionCase &c, const Floats &q, const Floats &k,
           const Floats &v, const Floats &mask, const Floats &dy)
      : y(product(c.y())), dq(q.size()), dk(k.size()), dv(v.size()) {
    for (int64_t n = 0; n < c.samples; ++n)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < c.queries; ++i)
          addRow(c, n, h, i, q, k, v, mask, dy);
  }

  void addRow(const AttentionCase &c, int64_t n, int64_t h, int64_t i,
              const Floats &q, const Floats &k, const Floats &v,
              const Floats &mask, const Floats &dy) {
    auto at = [&](int64_t token, int64_t tokens, int64_t size) {
      return ((n * tokens + token) * c.heads + h) * size;
    };
    const int64_t qAt = at(i, c.queries, c.size),
                  yAt = at(i, c.queries, c.valueSize);
    Doubles weights(c.keys), d(c.keys);
    double most = hidden, sum = 0, shared = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      for (int64_t e = 0; e < c.size; ++e)
        weights[j] += double(scale) * q[qAt + e] * k[at(j, c.keys, c.size) + e];
      weights[j] += mask.empty() ? 0 : mask[i * c.keys + j];
      most = std::max(most, weights[j]);
    }
    for (double &weight : weights)
      sum += weight = std::exp(weight - most);
    largest.push_back(most);
    inverse.push_back(1 / sum);
    for (int64_t j = 0; j < c.keys; ++j) {
      const int64_t vAt = at(j, c.keys, c.valueSize);
      weights[j] /= sum;
      for (int64_t e = 0; e < c.valueSize; ++e) {
        y[yAt + e] += weights[j] * v[vAt + e];
        dv[vAt + e] += weights[j] * dy[yAt + e];
        d[j] += double(dy[yAt + e]) * v[vAt + e];
      }
      shared += weights[j] * d[j];
    }
    for (int64_t j = 0; j < c.keys; ++j)
      for (int64_t e = 0; e < c.size; ++e) {
        const int64_t kAt = at(j, c.keys, c.size) + e;
        const double dScore = scale * weights[j] * (d[j] - shared);
        dq[qAt + e] += dScore * k[kAt];
        dk[kAt] += dScore * q[qAt + e];
      }
  }
};

class AttentionTest : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionTest, MatchesReference) {
  const AttentionCase &c = GetParam();
  for (int threads : {1, 3}) {
    Workbench bench(threads);
    const Floats q = randomValues(product(c.q()), 1),
                 k = randomValues(product(c.k()), 2),
                 v = randomValues(product(c.v()), 3),
                 dy = randomValues(product(c.y()), 4),
                 mask = c.masked == Masked::no ? Floats() : c.mask();
    const Dims rows = {c.samples, c.heads, c.queries};
    Tensor y = bench.tensor(c.y()), largest = bench.tensor(rows),
           inverse = bench.tensor(rows), dq = bench.tensor(c.q()),
           dk = bench.tensor(c.k()), dv = bench.tensor(c.v());
    Tensor tq = bench.tensor(c.q(), q), tk = bench.tensor(c.k(), k),
           tv = bench.tensor(c.v(), v), tdy = bench.tensor(c.y(), dy);
    Tensor tMask =
        mask.empty() ? Tensor{} : bench.tensor({c.queries, c.keys}, mask);
    const AttentionParams params{.heads = c.heads, .scale = scale};
    bench.run([&](Lane &lane) {
      attention(lane, y, largest, inverse, tq, tk, tv, tMask, params);
      attention_grad(lane, dq, dk, dv, tdy, tq, tk, tv, largest, inverse, tMask,
                     params);
    });
    const Expected expected(c, q, k, v, mask, dy);
    expectClose(bench.get(y), expected.y, 1e-5);
    expectClose(bench.get(largest), expected.largest, 1e-5);
    expectClose(bench.get(inverse), expected.inverse, 1e-5);
    expectClose(bench.get(dq), expected.dq, 1e-5);
    expectClose(bench.get(dk), expected.dk, 1e-5);
    expectClose(bench.get(dv), expected.dv, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Attention, AttentionTest,
    testing::Values(
        AttentionCase{"one", 1, 1, 1, 1, 1, 1, Masked::no},
        AttentionCase{"plain", 2, 3, 5, 7, 4, 6, Masked::no},
        AttentionCase{"masked", 2, 2, 70, 33, 8, 3, Masked::some},
        AttentionCase{"causal", 2, 2, 150, 150, 16, 16, Masked::causal},
        AttentionCase{"before", 1, 2, 130, 20, 5, 5, Masked::causal},
        AttentionCase{"blocks", 1, 4, 197, 197, 64, 64, Masked::no}),
    [](const auto &info) { return info.param.name; });

/// A key or value that no query of the first block sees is NaN: it reaches what
/// it would where nothing is left out.
TEST(AttentionNanTest, IsNotHidden) {
  const AttentionCase c{"", 1, 1, 100, 100, 4, 4, Masked::causal};
  for (bool ofValues : {false, true}) {
    Workbench bench;
    Floats k = randomValues(product(c.k()), 2), v = k;
    (ofValues ? v : k).back() = std::numeric_limits<float>::quiet_NaN();
    Tensor y = bench.tensor(c.y()), dq = bench.tensor(c.q()),
           dk = bench.tensor(c.k()), dv = bench.tensor(c.v()),
           largest = bench.tensor({1, 1, 100}),
           inverse = bench.tensor({1, 1, 100});
    Tensor q = bench.tensor(c.q(), randomValues(product(c.q()), 1)),
           dy = bench.tensor(c.y(), randomValues(product(c.y()), 4)),
           tk = bench.tensor(c.k(), k), tv = bench.tensor(c.v(), v),
           mask = bench.tensor({100, 100}, c.mask());
    bench.run([&](Lane &lane) {
      attention(lane, y, largest, inverse, q, tk, tv, mask, {});
      attention_grad(lane, dq, dk, dv, dy, q, tk, tv, largest, inverse, mask,
                     {});
    });
    const Floats result = bench.get(y), toQueries = bench.get(dq);
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(std::isnan(result[i * 4 + 3])) << i;
      EXPECT_TRUE(std::isnan(toQueries[i * 4])) << i;
    }
  }
}

} // namespace

//===- Attention.cpp - Attention, a few queries at a time -------*- C++ -*-===//
//
// Scores of a block of queries stay in the cache from the first product to the
// last. The gradient computes them once more. Products are oneDNN's sgemm, in
// one thread each, which reads and writes heads where they lie. Threads share
// blocks of queries, or, for the gradient, heads: what blocks add to the
// gradients of keys and values is added in their order.
//
// Where a mask hides all keys of a block from some key on (-infinity), as that
// of causal attention does, these are left out: they weigh 0. But not where a
// NaN or an infinity would be lost.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Error.h"
#include "runtime/core/HostDevice.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/SoftmaxRow.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <dnnl.h>
#include <limits>

namespace lwcc::rt {

static constexpr int64_t blockRows = 64;

namespace {
/// Rows of one head, `leading` apart.
struct Head {
  float *data;
  int64_t rows, size, leading;

  Head part(int64_t first, int64_t count) const {
    return {data + first * leading, count, size, leading};
  }
};

/// The scores of a block, or their gradients: a row for each query.
struct Scores {
  float *data;
  int64_t rows, columns, leading;

  float *row(int64_t r) const { return data + r * leading; }
};
} // namespace

/// to [m, n] = scale * op(a) [m, k] * op(b) [k, n], added to what is there or
/// not. False if oneDNN refuses, which throws only outside of parallel loops.
template <typename To, typename A, typename B>
static bool multiply(const To &to, int64_t n, float scale, const A &a,
                     bool transposeA, const B &b, bool transposeB, int64_t k,
                     bool add) {
  return dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', to.rows, n,
                    k, scale, a.data, a.leading, b.data, b.leading,
                    add ? 1.0f : 0.0f, to.data, to.leading) == dnnl_success;
}

LWCC_CLONES static void addRow(float *to, const float *x, int64_t n) {
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    to[i] += x[i];
}

LWCC_CLONES static uint32_t largestBits(const float *x, int64_t n) {
  uint32_t most = 0;
  for (int64_t i = 0; i < n; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return most;
}

/// The largest magnitude of all elements; NaN if one is.
static double magnitudeOf(const Head &head) {
  uint32_t most = 0; // NaN is above infinity
  for (int64_t r = 0; r < head.rows; ++r)
    most = std::max(most, largestBits(head.data + r * head.leading, head.size));
  return std::bit_cast<float>(most);
}

/// Whether all products of rows of the two are finite, however they are added.
static bool areModest(const Head &a, const Head &b, double scale) {
  return magnitudeOf(a) * magnitudeOf(b) * static_cast<double>(a.size) *
             std::max(std::abs(scale), 1.0) <
         std::numeric_limits<float>::max() / 2;
}

namespace {
/// One call.
struct Attention {
  Tensor q, k, v, mask;
  int64_t heads, queries, keys;
  float scale;

  Attention(const Tensor &q, const Tensor &k, const Tensor &v,
            const Tensor &mask, const AttentionParams &params)
      : q(q), k(k), v(v), mask(mask), heads(params.heads), queries(q.dim[1]),
        keys(k.dim[1]), scale(params.scale) {}

  int64_t allHeads() const { return q.dim[0] * heads; }
  int64_t blocks() const { return (queries + blockRows - 1) / blockRows; }
  int64_t rowsOf(int64_t block) const {
    return std::min(blockRows, queries - block * blockRows);
  }
  /// Head `number` of all samples' of [n, tokens, heads * size].
  Head head(const Tensor &t, int64_t number) const {
    const int64_t size = t.dim[2] / heads;
    float *data =
        t ? t.as<float>() + number / heads * t.stride[0] + number % heads * size
          : nullptr;
    return {data, t.dim[1], size, t.stride[1]};
  }

  /// Rows lie at a distance that does not let them share sets of a cache.
  int64_t leading() const { return (keys + 15) / 16 * 16 + 16; }
  int64_t bytesOfScores() const {
    return blockRows * leading() * static_cast<int64_t>(sizeof(float));
  }
  Scores scores(char *memory, int64_t block, int64_t seen) const {
    return {reinterpret_cast<float *>(memory), rowsOf(block), seen, leading()};
  }

  std::vector<int64_t> seenByBlock() const;
  bool fill(const Scores &scores, int64_t block, const Head &some,
            const Head &all) const;
};
} // namespace

/// How many keys, from the first on, some query of each block sees.
std::vector<int64_t> Attention::seenByBlock() const {
  std::vector<int64_t> seen(blocks(), keys);
  for (int64_t block = 0; mask && block < blocks(); ++block) {
    int64_t most = 1; // of none, a softmax is NaN
    for (int64_t r = 0; r < rowsOf(block); ++r) {
      const float *row =
          mask.as<float>() + (block * blockRows + r) * mask.stride[0];
      int64_t last = keys;
      while (last > most &&
             row[last - 1] == -std::numeric_limits<float>::infinity())
        --last;
      most = last;
    }
    seen[block] = most;
  }
  return seen;
}

/// The scores of a block: some queries with all keys that are seen.
bool Attention::fill(const Scores &scores, int64_t block, const Head &some,
                     const Head &all) const {
  bool done = multiply(scores, scores.columns, scale, some, false, all, true,
                       some.size, false);
  for (int64_t r = 0; mask && r < scores.rows; ++r)
    addRow(scores.row(r),
           mask.as<float>() + (block * blockRows + r) * mask.stride[0],
           scores.columns);
  return done;
}

/// Appends a call whose `items` are shared out; what prepare() returns is
/// called with an item and a workspace, and says whether oneDNN did its part.
template <typename Prepare>
static void appendItems(CpuLane &on, const char *name, const Tensors &results,
                        int64_t items, int64_t workspace,
                        const Prepare &prepare) {
  const int64_t parts =
      std::max<int64_t>(std::min<int64_t>(on.threads, items), 1);
  workspace = (workspace + 255) / 256 * 256;
  on.needWorkspace(parts * workspace);
  on.append(name, results, [=, &on] {
    const auto body = prepare();
    std::atomic<bool> failed = false;
    parallelFor(on.threads, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        for (int64_t i = items * p / parts; i < items * (p + 1) / parts; ++i)
          if (!body(i, on.workspace() + p * workspace))
            failed = true;
    });
    if (failed)
      throw Error("oneDNN's matrix product failed");
  });
}

void attention(Lane &lane, Tensor y, Tensor largest, Tensor inverse, Tensor q,
               Tensor k, Tensor v, Tensor mask, const AttentionParams &params) {
  const Attention call(q, k, v, mask, params);
  auto block = [=](const std::vector<int64_t> &seen, int64_t item,
                   char *memory) {
    const int64_t number = item / call.blocks(), block = item % call.blocks();
    const int64_t first = block * blockRows, rows = call.rowsOf(block);
    const Head queries = call.head(q, number).part(first, rows),
               keys = call.head(k, number), values = call.head(v, number),
               result = call.head(y, number).part(first, rows);
    int64_t count = seen[block];
    const int64_t hidden = call.keys - count;
    if (hidden > 0 &&
        !(areModest(queries, keys.part(count, hidden), call.scale) &&
          std::isfinite(magnitudeOf(values.part(count, hidden)))))
      count = call.keys;
    const Scores scores = call.scores(memory, block, count);
    bool done = call.fill(scores, block, queries, keys);
    for (int64_t r = 0; r < rows; ++r) {
      const SoftmaxScale scale =
          softmaxRow(scores.row(r), scores.row(r), count);
      const int64_t at = number * call.queries + first + r;
      if (largest)
        largest.as<float>()[at] = scale.largest;
      if (inverse)
        inverse.as<float>()[at] = scale.inverse;
    }
    return done & multiply(result, values.size, 1.0f, scores, false, values,
                           false, count, false);
  };
  appendItems(cpuLane(lane), "attention", {y, largest, inverse},
              call.allHeads() * call.blocks(), call.bytesOfScores(), [=] {
                return [block, seen = call.seenByBlock()](int64_t item,
                                                          char *memory) {
                  return block(seen, item, memory);
                };
              });
}

static void clear(const Head &head) {
  for (int64_t r = 0; head.data && r < head.rows; ++r)
    std::fill_n(head.data + r * head.leading, head.size, 0.0f);
}

void attention_grad(Lane &lane, Tensor dq, Tensor dk, Tensor dv, Tensor dy,
                    Tensor q, Tensor k, Tensor v, Tensor largest,
                    Tensor inverse, Tensor mask,
                    const AttentionParams &params) {
  const Attention call(q, k, v, mask, params);
  auto gradients = [=](const std::vector<int64_t> &seen, int64_t number,
                       char *memory) {
    const Head queries = call.head(q, number), keys = call.head(k, number),
               values = call.head(v, number), above = call.head(dy, number),
               toKeys = call.head(dk, number), toValues = call.head(dv, number);
    clear(toKeys);
    clear(toValues);
    const bool someAreHidden = seen.front() < call.keys;
    const bool leaveOut = someAreHidden &&
                          areModest(queries, keys, call.scale) &&
                          areModest(above, values, 1);
    bool done = true;
    for (int64_t block = 0; block < call.blocks(); ++block) {
      const int64_t first = block * blockRows, rows = call.rowsOf(block);
      const int64_t count = leaveOut ? seen[block] : call.keys;
      const Head some = queries.part(first, rows),
                 dSome = above.part(first, rows);
      const Scores weights = call.scores(memory, block, count),
                   dScores =
                       call.scores(memory + call.bytesOfScores(), block, count);
      done &= call.fill(weights, block, some, keys);
      done &= multiply(dScores, count, 1.0f, dSome, false, values, true,
                       dSome.size, false);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = number * call.queries + first + r;
        softmaxRow(weights.row(r), weights.row(r), count,
                   {largest.as<float>()[at], inverse.as<float>()[at]});
        softmaxRowGradient(dScores.row(r), 1, dScores.row(r), 1, weights.row(r),
                           1, count);
      }
      if (dv)
        done &= multiply(toValues.part(0, count), values.size, 1.0f, weights,
                         true, dSome, false, rows, true);
      if (dq)
        done &= multiply(call.head(dq, number).part(first, rows), keys.size,
                         call.scale, dScores, false, keys, false, count, false);
      if (dk)
        done &= multiply(toKeys.part(0, count), keys.size, call.scale, dScores,
                         true, some, false, rows, true);
    }
    return done;
  };
  appendItems(cpuLane(lane), "attention_grad", {dq, dk, dv}, call.allHeads(),
              2 * call.bytesOfScores(), [=] {
                return [gradients, seen = call.seenByBlock()](int64_t number,
                                                              char *memory) {
                  return gradients(seen, number, memory);
                };
              });
}

} // namespace lwcc::rt

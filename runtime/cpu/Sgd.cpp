//===- Sgd.cpp - Sums and stochastic gradient descent -----------*- C++ -*-===//
//
// One pass over weight, gradients and states: an update is bound by memory, so
// each is read once and written once. Several gradients are summed a piece at a
// time that stays in the cache.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/StridedCopy.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Update.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lwcc::rt {

/// Elements of a piece: 16 KiB.
static constexpr int64_t pieceSize = 4096;

LWCC_CLONES static void addTwo(int64_t n, float *y, const float *a,
                               const float *b) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    y[i] = a[i] + b[i];
}

/// y = elements [begin, begin + n) of the tensors' sum, in their order; y may
/// be those elements of one of them.
static void sumPiece(const Tensors &xs, int64_t begin, int64_t n, float *y) {
  auto at = [&](size_t i) { return xs[i].as<float>() + begin; };
  // All in the cache before y is written: it may be any of them.
  if (xs.size() > 2) {
    float total[pieceSize];
    addTwo(n, total, at(0), at(1));
    for (size_t i = 2; i + 1 < xs.size(); ++i)
      addTwo(n, total, total, at(i));
    addTwo(n, y, total, at(xs.size() - 1));
  } else if (xs.size() == 2) {
    addTwo(n, y, at(0), at(1));
  } else if (y != at(0)) {
    std::copy_n(at(0), n, y);
  }
}

template <typename Body>
static void forEachPiece(int threads, int64_t n, const Body &body) {
  int64_t pieces = (n + pieceSize - 1) / pieceSize;
  parallelFor(threads, pieces, 4, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      body(p * pieceSize, std::min(pieceSize, n - p * pieceSize));
  });
}

/// The same of parts of tensors: row by row of what is contiguous.
static void appendPartsSum(CpuLane &on, const Tensor &y, const Tensors &xs) {
  LoopNest<2> rows = copyNest(y, xs[0]);
  int inner = rows.rank - 1;
  const int64_t length = rows.extent[inner];
  const int64_t toStep = rows.stride[0][inner];
  const int64_t fromStep = rows.stride[1][inner];
  auto run = [=, threads = on.threads] {
    parallelFor(threads, iterations(rows) / length, 16,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    int64_t at[2];
                    offsetsAt(rows, row * length, at);
                    float *to = y.as<float>() + at[0];
                    for (int64_t i = 0; i < length; ++i) {
                      float total = 0;
                      for (size_t t = 0; t < xs.size(); ++t) {
                        float x = xs[t].as<float>()[at[1] + i * fromStep];
                        total = t == 0 ? x : total + x;
                      }
                      to[i * toStep] = total;
                    }
                  }
                });
  };
  on.append("sum", {y}, run, xs);
}

void sum(Lane &lane, Tensor y, const Tensors &xs) {
  for ([[maybe_unused]] const Tensor &x : xs)
    assert(x.stride == xs[0].stride && "different layouts");
  CpuLane &on = cpuLane(lane);
  if (y.elements() > 0 && xs[0].stride != y.stride)
    return appendPartsSum(on, y, xs);
  on.append(
      "sum", {y},
      [y, xs, threads = on.threads] {
        forEachPiece(threads, y.elements(), [&](int64_t begin, int64_t n) {
          sumPiece(xs, begin, n, y.as<float>() + begin);
        });
      },
      xs);
}

/// Calls body(piece, number of elements, w, g, states) for all pieces of a
/// parameter, with g the gradients' sum.
template <typename Body>
static void forEachUpdatedPiece(int threads, const Tensor &w,
                                const Tensors &states, const Tensors &gs,
                                const Body &body) {
  forEachPiece(threads, w.elements(), [&](int64_t begin, int64_t n) {
    float total[pieceSize];
    const float *g = gs[0].as<float>() + begin;
    if (gs.size() > 1) {
      sumPiece(gs, begin, n, total);
      g = total;
    }
    float *at[maxStates];
    for (size_t i = 0; i < states.size(); ++i)
      at[i] = states[i].as<float>() + begin;
    body(begin / pieceSize, n, w.as<float>() + begin, g, at);
  });
}

/// Appends what `run` does with the step's numbers, unless the loss is not
/// finite.
template <typename Run>
static void appendGuarded(CpuLane &on, const char *name, const Tensor &w,
                          const Tensors &states, const Tensor &scalars,
                          const Tensor &loss, const Tensors &gs,
                          const UpdateParams &params, const Run &run) {
  assert(states.size() <= maxStates && "more than an update gets");
  for ([[maybe_unused]] const Tensor &state : states)
    assert(w.stride == state.stride && "different layouts");
  for ([[maybe_unused]] const Tensor &g : gs)
    assert(w.stride == g.stride && "different layouts");
  Tensors updated = {w};
  updated.insert(updated.end(), states.begin(), states.end());
  on.append(
      name, updated,
      [=] {
        if (isFiniteLoss(*loss.as<float>()))
          run(scalarsFor(*scalars.as<StepScalars>(), params));
      },
      gs);
}

void appendUpdate(Lane &lane, const char *name, UpdateRange range, Tensor w,
                  const Tensors &states, Tensor scalars, Tensor loss,
                  const Tensors &gs, const UpdateParams &params) {
  CpuLane &on = cpuLane(lane);
  appendGuarded(on, name, w, states, scalars, loss, gs, params,
                [=, threads = on.threads](const StepScalars &s) {
                  forEachUpdatedPiece(
                      threads, w, states, gs,
                      [&](int64_t, int64_t n, float *at, const float *g,
                          float *const *state) { range(s, n, at, g, state); });
                });
}

void appendUpdate(Lane &lane, const char *name, const NormPasses &passes,
                  Tensor w, const Tensors &states, Tensor scalars, Tensor loss,
                  const Tensors &gs, const UpdateParams &params) {
  CpuLane &on = cpuLane(lane);
  auto run = [=, threads = on.threads](const StepScalars &s) {
    // Of each piece, added up in their order: on any number of threads alike.
    std::vector<std::array<double, 2>> squares((w.elements() + pieceSize - 1) /
                                               pieceSize);
    forEachUpdatedPiece(threads, w, states, gs,
                        [&](int64_t piece, int64_t n, float *at, const float *g,
                            float *const *state) {
                          passes.prepare(s, n, at, g, state,
                                         squares[piece].data());
                        });
    double weight = 0, vector = 0;
    for (const auto &piece : squares) {
      weight += piece[0];
      vector += piece[1];
    }
    const float trust = passes.trust(s, static_cast<float>(std::sqrt(weight)),
                                     static_cast<float>(std::sqrt(vector)));
    forEachUpdatedPiece(
        threads, w, states, gs,
        [&](int64_t, int64_t n, float *at, const float *g,
            float *const *state) { passes.finish(s, trust, n, at, g, state); });
  };
  appendGuarded(on, name, w, states, scalars, loss, gs, params, run);
}

LWCC_CLONES static void sgdRange(const StepScalars &s, int64_t n, float *w,
                                 const float *g, float *const *states) {
  updateRange<SgdBody>(s, n, w, g, states);
}

void sgd(Lane &lane, [[maybe_unused]] Tensor w_new,
         [[maybe_unused]] Tensor m_new, Tensor w, Tensor m, Tensor scalars,
         Tensor loss, const Tensors &gs, const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updated in place");
  appendUpdate(lane, "sgd", sgdRange, w, {m}, scalars, loss, gs, params);
}

} // namespace lwcc::rt

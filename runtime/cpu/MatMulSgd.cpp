//===- MatMulSgd.cpp - A fully connected layer's gradients and update -----===//
//
// Both gradients of a fully connected layer and its update, in one pass over
// the weights. With few rows the layer is bound by the memory that the weights
// take, so weights and momentum are read and written once. Everything is
// computed while they are in registers, and the weight's gradient never gets to
// memory.
//
// Each thread has a range of columns of all matrices, so that threads share
// nothing. A thread works on pieces of its columns that fit the cache. In a
// piece it goes down the weights, a few of their rows (outputs) at a time, and
// adds to dx. If x has more rows than registers hold, there are several passes;
// the last one updates.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Ops.h"
#include "runtime/core/UpdateBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace lwcc::rt {

namespace {
/// Sixteen floats: a register, or several smaller ones.
typedef float Vector __attribute__((vector_size(64)));
constexpr int64_t vectorSize = 16;

/// Rows and outputs of a pass, and the most columns of a piece.
constexpr int64_t passRows = 8, passOutputs = 8, pieceColumns = 1536;

struct Layer {
  StepScalars scalars;
  bool updates; ///< the loss is finite
  int64_t rows, outputs, inputs;
  const float *x, *dy;
  float *w, *m, *dx; ///< dx may be null
  /// [passOutputs, pieceColumns], the weights' gradient between passes.
  float *partial;
};
} // namespace

/// Loads a vector of floats at any address.
template <typename T>
static T load(const float *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
static void store(float *to, const T &value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Columns [begin, end) of `Rows` rows from `row` and `Outputs` outputs from
/// `output`, in steps of T; `partial` is where their gradient is kept.
template <typename T, int Rows, int Outputs>
static void pass(const Layer &l, int64_t row, int64_t output, int64_t begin,
                 int64_t end, float *partial) {
  const StepScalars s = l.scalars;
  const bool first = row == 0, last = row + Rows == l.rows;
  const float *x = l.x + row * l.inputs, *dy = l.dy + row * l.outputs + output;
  float *dx = l.dx ? l.dx + row * l.inputs : nullptr;
  float *w = l.w + output * l.inputs, *m = l.m + output * l.inputs;
  constexpr int64_t step = std::is_same_v<T, float> ? 1 : vectorSize;
  for (int64_t k = begin; k < end; k += step) {
    T weight[Outputs], gradient[Outputs];
    for (int o = 0; o < Outputs; ++o) {
      weight[o] = load<T>(w + o * l.inputs + k);
      gradient[o] =
          first ? T{} : load<T>(partial + o * pieceColumns + k - begin);
    }
    for (int r = 0; r < Rows; ++r) {
      const T value = load<T>(x + r * l.inputs + k);
      T sum = dx && output > 0 ? load<T>(dx + r * l.inputs + k) : T{};
      for (int o = 0; o < Outputs; ++o) {
        sum += dy[r * l.outputs + o] * weight[o];
        gradient[o] += dy[r * l.outputs + o] * value;
      }
      if (dx)
        store(dx + r * l.inputs + k, sum);
    }
    for (int o = 0; o < Outputs; ++o) {
      if (!last) {
        store(partial + o * pieceColumns + k - begin, gradient[o]);
      } else if (l.updates) {
        T momentum = load<T>(m + o * l.inputs + k);
        SgdBody::apply(s, weight[o], gradient[o], &momentum);
        store(m + o * l.inputs + k, momentum);
        store(w + o * l.inputs + k, weight[o]);
      }
    }
  }
}

/// A pass over whole vectors, then over the columns that are left.
template <int Rows, int Outputs>
static void passes(const Layer &l, int64_t row, int64_t output, int64_t begin,
                   int64_t end) {
  int64_t middle = end - (end - begin) % vectorSize;
  pass<Vector, Rows, Outputs>(l, row, output, begin, middle, l.partial);
  pass<float, Rows, Outputs>(l, row, output, middle, end,
                             l.partial + middle - begin);
}

template <int Outputs>
static void allRows(const Layer &l, int64_t output, int64_t begin,
                    int64_t end) {
  int64_t row = 0;
  for (; row + passRows <= l.rows; row += passRows)
    passes<passRows, Outputs>(l, row, output, begin, end);
  for (; row + 2 <= l.rows; row += 2)
    passes<2, Outputs>(l, row, output, begin, end);
  if (row < l.rows)
    passes<1, Outputs>(l, row, output, begin, end);
}

/// Columns [begin, end) of everything, at most pieceColumns.
LWCC_FAST_CLONES static void updatePiece(const Layer &l, int64_t begin,
                                         int64_t end) {
  int64_t output = 0;
  for (; output + passOutputs <= l.outputs; output += passOutputs)
    allRows<passOutputs>(l, output, begin, end);
  for (; output < l.outputs; ++output)
    allRows<1>(l, output, begin, end);
}

void matmul_sgd(Lane &lane, Tensor w_new, Tensor m_new, Tensor dx, Tensor w,
                Tensor m, Tensor scalars, Tensor loss, Tensor dy, Tensor x,
                const UpdateParams &params) {
  assert(w_new.data == w.data && m_new.data == m.data && "updated in place");
  assert(w.rank == 2 && x.rank == 2 && dy.rank == 2 && "matrices");
  CpuLane &on = cpuLane(lane);
  on.append("matmul_sgd", {w_new, m_new, dx}, [=, threads = on.threads] {
    Layer all{scalarsFor(*scalars.as<StepScalars>(), params),
              isFiniteLoss(*loss.as<float>()),
              x.dim[0],
              w.dim[0],
              w.dim[1],
              x.as<float>(),
              dy.as<float>(),
              w.as<float>(),
              m.as<float>(),
              dx.as<float>(),
              nullptr};
    int64_t vectors = (all.inputs + vectorSize - 1) / vectorSize;
    parallelFor(threads, vectors, 1, [&](int64_t first, int64_t last) {
      float partial[passOutputs * pieceColumns];
      Layer layer = all;
      layer.partial = partial;
      int64_t end = std::min(last * vectorSize, layer.inputs);
      for (int64_t k = first * vectorSize; k < end; k += pieceColumns)
        updatePiece(layer, k, std::min(k + pieceColumns, end));
    });
  });
}

} // namespace lwcc::rt

//===- Rows.h - Rows along one axis of several tensors ----------*- C++ -*-===//
//
// The traversal of softmax and the losses: one row along an axis after the
// other, with the row's start in each of N operands. An operand may lack the
// axis, as labels do.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_ROWS_H
#define LWCC_RUNTIME_CPU_ROWS_H

#include "runtime/core/LoopNest.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>

namespace lwcc::rt {

template <int N>
struct AxisRows {
  LoopNest<N> nest; ///< the rows, in logical order
  int64_t length;   ///< of a row
  int64_t step[N];  ///< along a row, 0 where the operand lacks the axis

  /// The first operand has the axis; an operand without it has one dimension
  /// less. An absent operand stays at offset 0.
  AxisRows(const Tensor (&operands)[N], int axis) {
    const Tensor &shape = operands[0];
    length = shape.dim[axis];
    nest.rank = shape.rank - 1;
    for (int k = 0; k < N; ++k) {
      const Tensor &t = operands[k];
      bool has = t.rank == shape.rank;
      step[k] = has ? t.stride[axis] : 0;
      for (int d = 0; d < nest.rank; ++d) {
        int from = has && d >= axis ? d + 1 : d;
        if (k == 0)
          nest.extent[d] = t.dim[from];
        nest.stride[k][d] = t ? t.stride[from] : 0;
      }
    }
  }

  int64_t count() const { return iterations(nest); }

  /// Calls body(row number, offsets) for every row.
  template <typename Body>
  void forEach(int threads, const Body &body) const {
    int64_t grain = std::max<int64_t>(4096 / std::max<int64_t>(length, 1), 1);
    parallelFor(threads, count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t at[N];
        offsetsAt(nest, row, at);
        body(row, at);
      }
    });
  }
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_ROWS_H

//===- Rows.cuh - Vectors along one axis of a tensor ------------*- C++ -*-===//
//
// The traversal of softmax, losses and accuracy: all vectors along one axis, a
// block of threads for each. `outer` numbers the vectors in logical (row-major)
// order, which is also the order of a dense tensor of labels.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_ROWS_CUH
#define LWCC_RUNTIME_CUDA_ROWS_CUH

#include "runtime/core/LoopNest.h"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

namespace lwcc::rt::cuda {

struct Rows {
  LoopNest<1> outer; ///< offset of each vector's first element
  int64_t count = 1, extent = 1, stride = 1;

  __device__ int64_t begin(int64_t row) const {
    int64_t at[1];
    offsetsAt(outer, row, at);
    return at[0];
  }
};

inline Rows rowsOf(const Tensor &x, int64_t axis) {
  Rows rows;
  rows.extent = x.dim[axis];
  rows.stride = x.stride[axis];
  for (int d = 0; d < x.rank; ++d) {
    if (d == axis)
      continue;
    // Merge with the loop outside where the two are one; no reordering, since
    // the order is that of the labels.
    LoopNest<1> &o = rows.outer;
    if (o.rank > 0 && o.stride[0][o.rank - 1] == x.dim[d] * x.stride[d]) {
      o.extent[o.rank - 1] *= x.dim[d];
      o.stride[0][o.rank - 1] = x.stride[d];
    } else {
      o.extent[o.rank] = x.dim[d];
      o.stride[0][o.rank++] = x.stride[d];
    }
  }
  if (rows.outer.rank == 0) {
    rows.outer.rank = 1;
    rows.outer.extent[0] = 1;
  }
  rows.count = iterations(rows.outer);
  return rows;
}

/// Threads for a block that takes a vector of this extent.
inline unsigned threadsFor(const Rows &rows) {
  return rows.extent <= 128 ? 32 : 256;
}
inline unsigned blocksFor(const Rows &rows) {
  return static_cast<unsigned>(std::min<int64_t>(rows.count, 1 << 20));
}

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_ROWS_CUH

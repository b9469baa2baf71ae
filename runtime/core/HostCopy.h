//===- HostCopy.h - Copies between views of host memory ---------*- C++ -*-===//
//
// Copies a tensor in host memory from one layout to another, in one thread. The
// trainer's loader copies samples with it, and backends the data that they move
// between host and device. Copies within a running program are operators
// instead (Ops.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_HOSTCOPY_H
#define LWCC_RUNTIME_CORE_HOSTCOPY_H

#include "runtime/core/StridedCopy.h"

#include <algorithm>

namespace lwcc::rt {

template <typename T>
void copyLoopsOnHost(const LoopNest<2> &nest, T *to, const T *from) {
  // The two innermost loops here, the others by arithmetic. With the channels
  // of images, the innermost is short.
  const int inner = nest.rank - 1;
  const int64_t extent = nest.extent[inner], toStep = nest.stride[0][inner],
                fromStep = nest.stride[1][inner];
  int64_t rows = 1, toRow = 0, fromRow = 0;
  if (inner > 0) {
    rows = nest.extent[inner - 1];
    toRow = nest.stride[0][inner - 1];
    fromRow = nest.stride[1][inner - 1];
  }
  for (int64_t i = 0, n = iterations(nest); i < n; i += extent * rows) {
    int64_t at[2];
    offsetsAt(nest, i, at);
    T *target = to + at[0];
    const T *source = from + at[1];
    for (int64_t r = 0; r < rows; ++r, target += toRow, source += fromRow)
      if (extent == 3) {
        T a = source[0], b = source[fromStep], c = source[2 * fromStep];
        target[0] = a;
        target[toStep] = b;
        target[2 * toStep] = c;
      } else if (toStep == 1 && fromStep == 1) {
        std::copy_n(source, extent, target);
      } else {
        for (int64_t k = 0; k < extent; ++k)
          target[k * toStep] = source[k * fromStep];
      }
  }
}

/// Copies the elements of a view to those of another, of the same shape.
inline void copyOnHost(const Tensor &to, const Tensor &from) {
  LoopNest<2> nest = copyNest(to, from);
  if (sizeOf(to.type) == 1)
    copyLoopsOnHost(nest, to.as<uint8_t>(), from.as<const uint8_t>());
  else
    copyLoopsOnHost(nest, to.as<uint32_t>(), from.as<const uint32_t>());
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_HOSTCOPY_H

//===- LoopNest.h - Loops over several strided operands ---------*- C++ -*-===//
//
// Every elementwise or copying operator is a nest of loops over operands with
// strides. This file builds such a nest, drops and merges the dimensions that
// all operands traverse alike, and turns a linear index into element offsets.
// A broadcast operand has stride 0, a reversed one a negative stride. It
// decides the order of the loops (operand 0, the one written, runs through
// memory in order) and nothing about threads or vectors.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_LOOPNEST_H
#define LWCC_RUNTIME_CORE_LOOPNEST_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Tensor.h"

#include <cstdint>
#include <vector>

namespace lwcc::rt {

/// A reshape between two tensors of rank `maxRank` has at most this many loops.
inline constexpr int maxNest = 2 * maxRank;

/// Loops over N operands, outermost first; strides are in elements. The same
/// struct is a CUDA kernel's argument.
template <int N>
struct LoopNest {
  int rank = 0;
  int64_t extent[maxNest] = {};
  int64_t stride[N][maxNest] = {};
};

template <int N>
LWCC_HD int64_t iterations(const LoopNest<N> &nest) {
  int64_t n = 1;
  for (int d = 0; d < nest.rank; ++d)
    n *= nest.extent[d];
  return n;
}

/// Element offsets of all operands at iteration `linear`, 0 <= linear <
/// iterations(nest).
template <int N>
LWCC_HD void offsetsAt(const LoopNest<N> &nest, int64_t linear,
                       int64_t (&offset)[N]) {
  for (int k = 0; k < N; ++k)
    offset[k] = 0;
  // The outermost loop takes what is left: a single one needs no division,
  // which takes a GPU as long as many memory accesses.
  for (int d = nest.rank - 1; d > 0; --d) {
    const int64_t at = linear % nest.extent[d];
    linear /= nest.extent[d];
    for (int k = 0; k < N; ++k)
      offset[k] += at * nest.stride[k][d];
  }
  for (int k = 0; k < N; ++k)
    offset[k] += linear * nest.stride[k][0];
}

/// Sorts the loops by operand 0's stride (largest outermost), then drops those
/// of extent 1 and merges neighbours that every operand traverses as one.
/// `stride[k]` is the stride array of operand k. At least one loop remains.
template <typename Strides>
void collapseLoops(int &rank, int64_t *extent, Strides &stride, int operands) {
  auto magnitude = [](int64_t s) { return s < 0 ? -s : s; };
  // Whether loop b belongs inside loop a: by operand 0, ties by the others.
  auto inOrder = [&](int a, int b) {
    for (int k = 0; k < operands; ++k) {
      int64_t sa = magnitude(stride[k][a]), sb = magnitude(stride[k][b]);
      if (sa != sb)
        return sa > sb;
    }
    return true;
  };
  auto swapLoops = [&](int a, int b) {
    auto swap = [](int64_t &x, int64_t &y) {
      int64_t t = x;
      x = y;
      y = t;
    };
    swap(extent[a], extent[b]);
    for (int k = 0; k < operands; ++k)
      swap(stride[k][a], stride[k][b]);
  };

  int kept = 0;
  for (int d = 0; d < rank; ++d)
    if (extent[d] != 1) {
      if (kept != d)
        swapLoops(kept, d);
      ++kept;
    }
  for (int d = 1; d < kept; ++d)
    for (int e = d; e > 0 && !inOrder(e - 1, e); --e)
      swapLoops(e - 1, e);

  int last = 0; // loops [0, last] are done
  for (int d = 1; d < kept; ++d) {
    bool merge = true;
    for (int k = 0; k < operands; ++k)
      merge &= stride[k][last] == stride[k][d] * extent[d];
    if (merge) {
      extent[last] *= extent[d];
    } else {
      ++last;
      extent[last] = extent[d];
    }
    for (int k = 0; k < operands; ++k)
      stride[k][last] = stride[k][d];
  }
  if (kept == 0) {
    extent[0] = 1;
    for (int k = 0; k < operands; ++k)
      stride[k][0] = 0;
  }
  rank = kept == 0 ? 1 : last + 1;
}

template <int N>
void collapse(LoopNest<N> &nest) {
  collapseLoops(nest.rank, nest.extent, nest.stride, N);
}

/// Strides with which `x` is read at the logical indices of `shape`, aligned at
/// the last dimension as in numpy; extents of 1 and missing dimensions repeat.
inline void broadcastStrides(const Tensor &x, const Tensor &shape,
                             int64_t *stride) {
  assert(x.rank <= shape.rank && "operand of higher rank than the result");
  for (int d = 0; d < shape.rank; ++d) {
    int e = d - (shape.rank - x.rank);
    assert((e < 0 || x.dim[e] == 1 || x.dim[e] == shape.dim[d]) &&
           "operand does not broadcast to the result");
    stride[d] = e < 0 || x.dim[e] == 1 ? 0 : x.stride[e];
  }
}

/// Row-major strides of `shape`: with them a loop nest counts the logical
/// element index that random numbers are keyed by.
inline void rowMajorStrides(const Tensor &shape, int64_t *stride) {
  int64_t next = 1;
  for (int d = shape.rank - 1; d >= 0; --d) {
    stride[d] = next;
    next *= shape.dim[d];
  }
}

/// The same of a tensor that is a part of one with extents `dims`, whose index
/// counts; returns the index of the part's first element. Empty lists: the
/// tensor is whole.
inline int64_t partStrides(const Tensor &part,
                           const std::vector<int64_t> &begin,
                           const std::vector<int64_t> &dims, int64_t *stride) {
  if (dims.empty()) {
    rowMajorStrides(part, stride);
    return 0;
  }
  int64_t next = 1, first = 0;
  for (int d = part.rank - 1; d >= 0; --d) {
    stride[d] = next;
    first += begin[d] * next;
    next *= dims[d];
  }
  return first;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_LOOPNEST_H

//===- StridedCopy.h - Data movement as strided copies ----------*- C++ -*-===//
//
// Transpose, concat, split, slice, pad and reshape all become copies between
// two views of the same shape, plus fills of boxes. This file does that
// reduction on the host, once per recorded operator; the backends only know how
// to run a LoopNest<2> (copy) and a box (fill).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_STRIDEDCOPY_H
#define LWCC_RUNTIME_CORE_STRIDEDCOPY_H

#include "runtime/core/LoopNest.h"
#include "runtime/core/Tensor.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace lwcc::rt {

inline void *elementAt(const Tensor &t, int64_t offset) {
  return t.as<char>() + offset * sizeOf(t.type);
}

/// The box of `t` that starts at `begin` (null: the origin) and has these
/// extents.
inline Tensor boxOf(Tensor t, const int64_t *begin, const int64_t *extent) {
  int64_t offset = 0;
  for (int d = 0; d < t.rank; ++d) {
    offset += begin ? begin[d] * t.stride[d] : 0;
    t.dim[d] = extent[d];
  }
  t.data = elementAt(t, offset);
  return t;
}

/// The part of `t` with indices [begin, begin + extent) along one axis.
inline Tensor alongAxis(Tensor t, int64_t axis, int64_t begin, int64_t extent) {
  t.data = elementAt(t, begin * t.stride[axis]);
  t.dim[axis] = extent;
  return t;
}

/// y's dimension d is x's dimension perm[d]: the view of x with y's shape.
inline Tensor permuted(const Tensor &x, const int64_t *perm) {
  Tensor t = x;
  for (int d = 0; d < x.rank; ++d) {
    t.dim[d] = x.dim[perm[d]];
    t.stride[d] = x.stride[perm[d]];
  }
  return t;
}

/// The view of x whose element i is x[start + i * step], of y's shape.
inline Tensor sliced(const Tensor &x, const Tensor &y, const int64_t *start,
                     const int64_t *step) {
  Tensor t = x;
  int64_t offset = 0;
  for (int d = 0; d < x.rank; ++d) {
    offset += start[d] * x.stride[d];
    t.dim[d] = y.dim[d];
    t.stride[d] = x.stride[d] * step[d];
  }
  t.data = elementAt(t, offset);
  return t;
}

/// Loops that copy `from` to `to`; both have the same shape and element size.
inline LoopNest<2> copyNest(const Tensor &to, const Tensor &from) {
  assert(to.rank == from.rank && sizeOf(to.type) == sizeOf(from.type));
  LoopNest<2> nest;
  nest.rank = to.rank;
  for (int d = 0; d < to.rank; ++d) {
    assert(to.dim[d] == from.dim[d] && "copy between different shapes");
    nest.extent[d] = to.dim[d];
    nest.stride[0][d] = to.stride[d];
    nest.stride[1][d] = from.stride[d];
  }
  collapse(nest);
  return nest;
}

/// Loops over one tensor, in logical order: offsetsAt gives where its element
/// number `linear` (row-major) lies.
inline LoopNest<1> logicalNest(const Tensor &t) {
  LoopNest<1> nest;
  nest.rank = t.rank;
  for (int d = 0; d < t.rank; ++d) {
    nest.extent[d] = t.dim[d];
    nest.stride[0][d] = t.stride[d];
  }
  return nest;
}

/// Loops that copy x to y, of another shape, in logical order. False if the
/// shapes have no common refinement ([4, 3] and [3, 4]) and x or y is not
/// row-major: then only logicalNest's index calculus on both sides serves.
inline bool reshapeNest(const Tensor &y, const Tensor &x, LoopNest<2> &nest) {
  assert(y.elements() == x.elements() && "reshape changes the element count");
  nest = LoopNest<2>();
  if (y.elements() == 0) {
    nest.rank = 1;
    return true;
  }
  struct Side {
    const Tensor &t;
    int d;
    int64_t left = 1, stride = 0; // of dimension d, what is not yet covered
    bool next() {
      while (left == 1 && d > 0) {
        --d;
        left = t.dim[d];
        stride = t.stride[d];
      }
      return left != 1;
    }
    void take(int64_t n) {
      left /= n;
      stride *= n;
    }
  };
  Side to{y, y.rank}, from{x, x.rank};
  while (to.next() && from.next()) {
    int64_t n = std::min(to.left, from.left);
    if (to.left % n != 0 || from.left % n != 0)
      return false;
    nest.extent[nest.rank] = n;
    nest.stride[0][nest.rank] = to.stride;
    nest.stride[1][nest.rank] = from.stride;
    ++nest.rank;
    to.take(n);
    from.take(n);
  }
  collapse(nest);
  return true;
}

/// Calls fill(box) for disjoint boxes that together are `t` without the box
/// [begin, end): two per dimension at most.
template <typename Fill>
void forEachFrameBox(const Tensor &t, const int64_t *begin, const int64_t *end,
                     const Fill &fill) {
  int64_t low[maxRank] = {}, extent[maxRank] = {};
  for (int d = 0; d < t.rank; ++d)
    extent[d] = t.dim[d];
  for (int d = 0; d < t.rank; ++d) {
    // Outside [begin, end) in dimension d, inside in those before.
    extent[d] = begin[d];
    low[d] = 0;
    if (extent[d] > 0)
      fill(boxOf(t, low, extent));
    extent[d] = t.dim[d] - end[d];
    low[d] = end[d];
    if (extent[d] > 0)
      fill(boxOf(t, low, extent));
    low[d] = begin[d];
    extent[d] = end[d] - begin[d];
  }
}

/// Where x, placed at `low` in y's coordinates, meets y. The box of both is
/// [begin, end) in y's coordinates, empty boxes included (begin == end).
struct Overlap {
  int64_t begin[maxRank] = {}, end[maxRank] = {};
  Tensor inY, inX;
};
inline Overlap overlapOf(const Tensor &y, const Tensor &x, const int64_t *low) {
  Overlap o;
  int64_t from[maxRank] = {}, extent[maxRank] = {};
  for (int d = 0; d < y.rank; ++d) {
    o.begin[d] = std::clamp<int64_t>(low[d], 0, y.dim[d]);
    o.end[d] = std::clamp<int64_t>(low[d] + x.dim[d], o.begin[d], y.dim[d]);
    extent[d] = o.end[d] - o.begin[d];
    from[d] = extent[d] > 0 ? o.begin[d] - low[d] : 0;
  }
  o.inY = boxOf(y, o.begin, extent);
  o.inX = boxOf(x, from, extent);
  return o;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_STRIDEDCOPY_H

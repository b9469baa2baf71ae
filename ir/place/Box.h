//===- Box.h - Boxes of tensors, and what a window needs -----*- C++ -*-===//
//
// The index calculus of tilings, without MLIR: a box is a part of a tensor's
// elements, one interval per dimension. Which region of its input a region of a
// windowed output needs (convolution, pooling) is a closed form; the borders
// that it pads are the tensor's own, so a tile's interior is never padded.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_BOX_H
#define LWCC_IR_PLACE_BOX_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lwcc::tiling {

/// Half open; empty if it ends where it begins or before.
struct Interval {
  int64_t begin = 0, end = 0;

  int64_t size() const { return std::max<int64_t>(end - begin, 0); }
  bool empty() const { return end <= begin; }
  bool contains(Interval other) const {
    return begin <= other.begin && other.end <= end;
  }
  bool operator==(const Interval &) const = default;
  auto operator<=>(const Interval &) const = default;
};

Interval intersect(Interval a, Interval b);

using Shape = std::vector<int64_t>;
/// An empty list is the region of a scalar: it has one element.
using Box = llvm::SmallVector<Interval, 4>;

Box wholeOf(const Shape &shape);
Shape shapeOf(const Box &region);
bool empty(const Box &region);
double volume(const Box &region); ///< how many elements it has
/// Both of one rank.
bool contains(const Box &outer, const Box &inner);
Box intersect(const Box &a, const Box &b);
/// Whether that has elements; asked of every two tiles, it makes no box.
bool overlap(const Box &a, const Box &b);
/// The smallest box that holds both.
Box hullOf(const Box &a, const Box &b);
/// What `hole` leaves of `from`: disjoint regions, ordered by dimension.
std::vector<Box> subtract(const Box &from, const Box &hole);
/// What it leaves of disjoint regions.
std::vector<Box> subtract(const std::vector<Box> &from, const Box &hole);

/// Part `index` of `parts` of [0, extent): sizes differ by at most one, the
/// larger ones first.
Interval partOf(int64_t extent, int64_t parts, int64_t index);
/// Part `index` of [0, extent) cut in these proportions; exactly these sizes
/// where they add up to the extent. May be empty.
Interval partOf(int64_t extent, const std::vector<int64_t> &sizes,
                int64_t index);

/// Along one axis, output o looks at the inputs o * stride - padLow + tap *
/// dilation for 0 <= tap < kernel.
struct Window {
  int64_t extent = 1; ///< of the input
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padLow = 0, padHigh = 0;
};

/// What the outputs of a tile look at, and the padding with which the operator
/// gives just these outputs from it.
struct WindowPart {
  Interval in;
  int64_t padLow = 0, padHigh = 0;
};

/// `out` is not empty. `in` is never empty: outputs that look at padding alone
/// get the nearest input. padLow is negative where the first output of the tile
/// looks past the end of the input, which no operator here can do.
WindowPart inputOf(const Window &window, Interval out);

} // namespace lwcc::tiling

#endif // LWCC_IR_PLACE_BOX_H

//===- Cuts.h - How layers and ops are cut, and along what ------*- C++ -*-===//
//
// Defines the nouns of a tiling, for plans and IR alike:
//
//   dimension  along which a layer is cut: samples, channels, height or
//              width of its result, or what it sums over
//   degree     in how many parts it is cut along a dimension
//   axis       of a tensor; a dimension of its layer, or none
//
// and the parts of tensors that follow once it is known which dimension each
// axis is. Plain C++; which dimension an axis is, is said by the op
// (TileableOpInterface, ir/train).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_CUTS_H
#define LWCC_IR_PLACE_CUTS_H

#include "ir/place/Box.h"
#include "ir/place/Tiling.h"

namespace lwcc::tiling {

/// A layer's dimensions: sample, channel, height, width of its result, and what
/// it sums over (the reduction). `none` marks an axis that is never cut.
enum Dim { n, c, h, w, k, none };

/// Indices, degrees or extents of n, c, h, w, k.
using Grid = Extents;

/// How a layer or an op is cut.
struct Cuts {
  Grid degrees = {1, 1, 1, 1, 1};
  /// Proportions of the parts, where they are not equal.
  std::array<std::vector<int64_t>, 5> sizes;

  Interval part(int dim, int64_t extent, int64_t index) const;
  /// Whether no part of such an extent is empty.
  bool fit(int dim, int64_t extent) const;
  bool none() const { return degrees == Grid{1, 1, 1, 1, 1}; }
  void cutAlong(int dim, const Cuts &like);
  void dontCutAlong(int dim);
};

/// The dimension of each axis of a tensor.
using Axes = llvm::SmallVector<int, 4>;

/// A number per channel: [c], or [c, 1, 1] to be broadcast over images.
bool isPerChannel(const Shape &shape);

/// Images are [n, c, h, w], features [n, c].
Axes usualAxes(const Shape &shape);

/// The extents of the dimensions that `axes` have, 1 of the others.
Grid extentsAlong(const Axes &axes, const Shape &shape);

/// The part of a tensor that belongs to tile `index`.
Box cut(const Axes &axes, const Shape &shape, const Cuts &cuts,
        const Grid &index);

} // namespace lwcc::tiling

#endif // LWCC_IR_PLACE_CUTS_H

//===- Cuts.cpp - How layers and ops are cut, and along what --------------===//

#include "ir/place/Cuts.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace lwcc::tiling;

bool tiling::isPerChannel(const Shape &shape) {
  return shape.size() == 1 ||
         (shape.size() == 3 && shape[1] == 1 && shape[2] == 1);
}

Axes tiling::usualAxes(const Shape &shape) {
  if (shape.size() == 2)
    return {n, c};
  if (shape.size() == 4)
    return {n, c, h, w};
  Axes axes(shape.size(), none);
  if (!shape.empty())
    axes[0] = isPerChannel(shape) ? c : n;
  return axes;
}

Interval Cuts::part(int dim, int64_t extent, int64_t index) const {
  return sizes[dim].empty() ? partOf(extent, degrees[dim], index)
                            : partOf(extent, sizes[dim], index);
}

bool Cuts::fit(int dim, int64_t extent) const {
  for (int64_t i = 0; i < degrees[dim]; ++i)
    if (part(dim, extent, i).empty())
      return false;
  return true;
}

void Cuts::cutAlong(int dim, const Cuts &like) {
  degrees[dim] = like.degrees[dim];
  sizes[dim] = like.sizes[dim];
}

void Cuts::dontCutAlong(int dim) { cutAlong(dim, Cuts()); }

Grid tiling::extentsAlong(const Axes &axes, const Shape &shape) {
  Grid extents = {1, 1, 1, 1, 1};
  for (auto [axis, extent] : llvm::zip_equal(axes, shape))
    if (axis != none)
      extents[axis] = extent;
  return extents;
}

Box tiling::cut(const Axes &axes, const Shape &shape, const Cuts &cuts,
                const Grid &index) {
  Box region = wholeOf(shape);
  for (auto [d, axis] : llvm::enumerate(axes))
    if (axis != none)
      region[d] = cuts.part(axis, shape[d], index[axis]);
  return region;
}

//===- MoveRules.cpp - Tiles of what moves data ---------------------------===//

#include "passes/shard/OpRules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// A part of the result needs what of the operand lies in it, or, of a part
/// that is border alone, some element that lies outside.
Tile shard::tileOf(PadOp op, const Cuts &cuts, const Grid &index) {
  Shape x = shapeOf(op.getX()), y = shapeOf(op.getY());
  Box out = cut(usualAxes(y), y, cuts, index), in;
  SmallVector<int64_t> low;
  for (auto [d, part] : llvm::enumerate(out)) {
    int64_t shift = op.getLow()[d], last = x[d] - 1;
    int64_t begin = std::clamp<int64_t>(part.begin - shift, 0, last);
    int64_t end = std::clamp<int64_t>(part.end - shift, begin + 1, x[d]);
    in.push_back({begin, end});
    low.push_back(begin + shift - part.begin);
  }
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  tile.attributes.set(op.getLowAttrName(),
                      DenseI64ArrayAttr::get(op.getContext(), low));
  return tile;
}

/// What a slice takes for a part of its result, from its first to its last
/// element; the attributes say where in this each lies.
template <typename OpT>
static Box takenRegion(OpT op, const Box &part, NamedAttrList &attributes) {
  Box taken;
  SmallVector<int64_t> start;
  for (auto [d, axis] : llvm::enumerate(part)) {
    int64_t step = op.getStep()[d];
    int64_t first = op.getStart()[d] + axis.begin * step;
    int64_t last = op.getStart()[d] + (axis.end - 1) * step;
    taken.push_back({std::min(first, last), std::max(first, last) + 1});
    start.push_back(first - taken.back().begin);
  }
  attributes.set(op.getStartAttrName(),
                 DenseI64ArrayAttr::get(op.getContext(), start));
  return taken;
}

Tile shard::tileOf(SliceOp op, const Cuts &cuts, const Grid &index) {
  Shape y = shapeOf(op.getY());
  Box out = cut(usualAxes(y), y, cuts, index);
  Tile tile;
  tile.results = {out};
  tile.operands = {takenRegion(op, out, tile.attributes)};
  return tile;
}

/// What lies between the regions of the parts is zero.
Tile shard::tileOf(SliceGradOp op, const Cuts &cuts, const Grid &index) {
  Shape dy = shapeOf(op.getDy());
  Box in = cut(usualAxes(dy), dy, cuts, index);
  Tile tile;
  tile.operands = {in};
  tile.results = {takenRegion(op, in, tile.attributes)};
  return tile;
}

/// The parts of `parts`, which lie one behind the other in a tensor along
/// `axis`, that lie in a region of it; none where that is empty.
static SmallVector<std::optional<Box>, 4>
partsIn(const Box &region, ValueRange parts, int64_t axis) {
  SmallVector<std::optional<Box>, 4> regions;
  int64_t begin = 0;
  for (Value part : parts) {
    int64_t size = shapeOf(part)[axis];
    Box inside = region;
    inside[axis] = intersect(region[axis], {begin, begin + size});
    inside[axis].begin -= begin;
    inside[axis].end -= begin;
    regions.push_back(empty(inside) ? std::nullopt
                                    : std::optional<Box>(inside));
    begin += size;
  }
  return regions;
}

Tile shard::tileOf(ConcatOp op, const Cuts &cuts, const Grid &index) {
  Shape whole = shapeOf(op.getY());
  Box part = cut(usualAxes(whole), whole, cuts, index);
  Tile tile;
  tile.operands = partsIn(part, op.getXs(), op.getAxis());
  tile.results = {part};
  return tile;
}

Tile shard::tileOf(SplitOp op, const Cuts &cuts, const Grid &index) {
  Shape whole = shapeOf(op.getX());
  int64_t axis = op.getAxis();
  Box part = cut(usualAxes(whole), whole, cuts, index);
  Tile tile;
  tile.operands = {part};
  SmallVector<int64_t> sizes;
  for (std::optional<Box> &region : partsIn(part, op.getYs(), axis)) {
    if (region)
      sizes.push_back((*region)[axis].size());
    tile.results.push_back(std::move(region));
  }
  tile.attributes.set(op.getSizesAttrName(),
                      DenseI64ArrayAttr::get(op.getContext(), sizes));
  return tile;
}

/// What a part of a reshape's result is a part of its operand along: samples,
/// and as much of what follows them as lies together on both sides (channels,
/// where images become features); of numbers per channel, the channels.
struct ReshapeUnits {
  Axes axes;
  Shape extents;
};
static ReshapeUnits reshapeUnits(ReshapeOp op) {
  Shape x = shapeOf(op.getX()), y = shapeOf(op.getY());
  if (x.empty() || y.empty() || x[0] != y[0])
    return {};
  if (isPerChannel(x) && isPerChannel(y))
    return {{c}, {x[0]}};
  int64_t channels = x.size() > 1 && y.size() > 1 ? std::min(x[1], y[1]) : 0;
  if (channels == 0 || x[1] % channels || y[1] % channels)
    channels = 1;
  return {{n, c}, {x[0], channels}};
}

Grid shard::extentsOf(ReshapeOp op) {
  ReshapeUnits units = reshapeUnits(op);
  return extentsAlong(units.axes, units.extents);
}

Tile shard::tileOf(ReshapeOp op, const Cuts &cuts, const Grid &index) {
  ReshapeUnits units = reshapeUnits(op);
  Box part = cut(units.axes, units.extents, cuts, index);
  auto regionOf = [&](Value value) {
    Shape shape = shapeOf(value);
    Box region = wholeOf(shape);
    for (size_t d = 0; d < std::min(part.size(), shape.size()); ++d) {
      // A dimension that is no whole number of units is not cut.
      int64_t perUnit = shape[d] / units.extents[d];
      if (cuts.degrees[units.axes[d]] > 1)
        region[d] = {part[d].begin * perUnit, part[d].end * perUnit};
    }
    return region;
  };
  Tile tile;
  tile.operands = {regionOf(op.getX())};
  tile.results = {regionOf(op.getY())};
  return tile;
}

Tile shard::tileOf(TransposeOp op, const Cuts &cuts, const Grid &index) {
  Shape y = shapeOf(op.getY());
  Box out = cut(usualAxes(y), y, cuts, index), in = out;
  for (auto [axis, from] : llvm::zip_equal(out, op.getPerm()))
    in[from] = axis;
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

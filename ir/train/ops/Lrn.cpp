//===- Lrn.cpp - Local response normalization -----------------------------===//
//
// Local response normalization: windows across channels (Krizhevsky et al.
// 2012). A tile cut along c also computes the neighbouring channels that its
// windows read. Their results lack neighbours of their own and are dropped
// (Tile::kept). The gradient reads windows of windows, so its margin is about
// twice as wide.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

SmallVector<Value> LrnOp::buildGradients(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         ArrayRef<bool> needed) {
  return {LrnGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                            getX(), getAlphaAttr(), getBetaAttr(),
                            getBiasAttr(), getSizeAttr())};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The tile of an op of which each element reads `below` channels below it and
/// `above` channels above it.
static Tile lrnTile(Operation *op, int64_t below, int64_t above,
                    const Cuts &cuts, const Grid &index) {
  Value x = op->getOperand(0);
  Box part = cut({n, c, h, w}, x, cuts, index), seen = part;
  seen[1] = intersect(Interval{0, shapeOf(x)[1]},
                      Interval{part[1].begin - below, part[1].end + above});
  Tile tile;
  tile.operands.assign(op->getNumOperands(), seen);
  tile.results = {seen};
  if (seen != part)
    tile.kept = part;
  return tile;
}

Grid LrnOp::extents() { return extentsAlong({n, c, h, w}, getX()); }
Grid LrnGradOp::extents() { return extentsAlong({n, c, h, w}, getX()); }

Tile LrnOp::tile(const Cuts &cuts, const Grid &index) {
  int64_t below = (getSize() - 1) / 2;
  return lrnTile(*this, below, getSize() - 1 - below, cuts, index);
}
Tile LrnGradOp::tile(const Cuts &cuts, const Grid &index) {
  return lrnTile(*this, getSize() - 1, getSize() - 1, cuts, index);
}

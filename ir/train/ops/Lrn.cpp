//===- Lrn.cpp - Local response normalization -----------------------------===//
//
// Windows across channels: a tile computes what its part looks at, too, which
// lacks neighbours and is dropped. The gradient looks at windows of windows.
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

/// Of an op whose elements look at `below` channels below and `above` above.
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

//===- Pooling.cpp - Pooling and its gradients ----------------------------===//
//
// Maximum and average pooling. max_pool has the index of each maximum as a
// second result, which its gradient reads.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Windows.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks the result of a pooling; with ceil_mode the last window may overhang.
template <typename Pool>
static LogicalResult verifyPool(Pool op) {
  Windows windows{op.getKernel(), op.getDilation(), op.getPad(),
                  op.getStride()};
  if (failed(expectRank(op, "input", op.getX(), 4)) ||
      failed(windows.check(op)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  Dims floor{x[0], x[1]}, ceil{x[0], x[1]};
  for (int dim : {0, 1}) {
    floor.push_back(windows.positions(dim, x[2 + dim], false));
    ceil.push_back(windows.positions(dim, x[2 + dim], true));
  }
  bool fits = y.size() == 4 && y[0] == x[0] && y[1] == x[1];
  for (int dim : {2, 3})
    fits = fits && y[dim] >= 1 && y[dim] >= floor[dim] && y[dim] <= ceil[dim];
  if (fits)
    return success();
  InFlightDiagnostic diag = op.emitOpError() << "result has shape " << text(y)
                                             << "; expected " << text(floor);
  if (ceil != floor)
    diag << " or, with ceil_mode, " << text(ceil);
  return diag;
}

LogicalResult MaxPoolOp::verify() {
  if (failed(verifyPool(*this)))
    return failure();
  std::optional<int64_t> taps = elementCount(getKernel());
  if (!taps)
    return emitOpError() << "kernel is " << text(getKernel())
                         << "; its taps cannot be counted";
  bool bytes = *taps <= 256;
  auto index = cast<RankedTensorType>(getIndex().getType());
  if (index.getElementType().isInteger(8) != bytes)
    return emitOpError() << "index has elements of type "
                         << index.getElementType() << "; expected "
                         << (bytes ? "ui8" : "i32") << " for windows of "
                         << *taps << " taps";
  return expectShape(*this, "index", getIndex(), shapeOf(getY()));
}

LogicalResult AvgPoolOp::verify() { return verifyPool(*this); }

LogicalResult MaxPoolGradOp::verify() {
  if (failed(expectRank(*this, "result", getDx(), 4)) ||
      failed(expectShape(*this, "index", getIndex(), shapeOf(getDy()))))
    return failure();
  return verifyGradient(*this, getKernel());
}

LogicalResult AvgPoolGradOp::verify() {
  if (failed(expectRank(*this, "result", getDx(), 4)))
    return failure();
  return verifyGradient(*this, getKernel());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> MaxPoolOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {MaxPoolGradOp::create(builder, getLoc(), getX().getType(),
                                resultGrads[0], getIndex(), getDilation(),
                                getKernel(), getPad(), getStride())};
}

SmallVector<Value> AvgPoolOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {AvgPoolGradOp::create(
      builder, getLoc(), getX().getType(), resultGrads[0], getCountIncludePad(),
      getDilation(), getKernel(), getPad(), getStride())};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The tile of a pooling or of its gradient; `x` and `y` are input and output,
/// or their gradients.
template <typename OpT>
static Tile poolTile(OpT op, Value x, Value y, const Cuts &cuts,
                     const Grid &index, bool forward) {
  Tile tile;
  Box out = cut({n, c, h, w}, y, cuts, index);
  Patch patch = patchOf(op, shapeOf(x), {op.getKernel()[0], op.getKernel()[1]},
                        out, cuts);
  setPad(tile, op, patch);
  Box in = {out[0], out[1], patch.in[0], patch.in[1]};
  tile.operands.assign(op->getNumOperands(), forward ? in : out);
  tile.results.assign(op->getNumResults(), forward ? out : in);
  return tile;
}

Grid MaxPoolOp::extents() { return extentsAlong({n, c, h, w}, getY()); }
Grid AvgPoolOp::extents() { return extentsAlong({n, c, h, w}, getY()); }
Grid MaxPoolGradOp::extents() { return extentsAlong({n, c, h, w}, getDy()); }
Grid AvgPoolGradOp::extents() { return extentsAlong({n, c, h, w}, getDy()); }

Tile MaxPoolOp::tile(const Cuts &cuts, const Grid &index) {
  return poolTile(*this, getX(), getY(), cuts, index, /*forward=*/true);
}
Tile AvgPoolOp::tile(const Cuts &cuts, const Grid &index) {
  return poolTile(*this, getX(), getY(), cuts, index, /*forward=*/true);
}
Tile MaxPoolGradOp::tile(const Cuts &cuts, const Grid &index) {
  return poolTile(*this, getDx(), getDy(), cuts, index, /*forward=*/false);
}
Tile AvgPoolGradOp::tile(const Cuts &cuts, const Grid &index) {
  return poolTile(*this, getDx(), getDy(), cuts, index, /*forward=*/false);
}

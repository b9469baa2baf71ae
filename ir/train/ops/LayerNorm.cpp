//===- LayerNorm.cpp - Normalization of rows ------------------------------===//
//
// Layer and RMS normalization along the last dimension, without scale and bias,
// which are maps. Cut along all dimensions but the one that is normalized.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

/// Checks rows `y` and a statistic of each, for rows `x`.
static LogicalResult verifyRows(Operation *op, Value x, Value y, Value invstd) {
  Dims expected(shapeOf(x));
  if (expected.empty())
    return op->emitOpError() << "input has rank 0; expected at least 1";
  if (failed(expectShape(op, "y", y, expected)))
    return failure();
  expected.back() = 1;
  return expectShape(op, "invstd", invstd, expected);
}

LogicalResult LayerNormOp::verify() {
  return verifyRows(*this, getX(), getY(), getInvstd());
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(verifyRows(*this, getDy(), getY(), getInvstd())))
    return failure();
  return expectShape(*this, "result", getDx(), shapeOf(getDy()));
}

SmallVector<Value> LayerNormOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  if (!resultGrads[0])
    return {Value()};
  return {LayerNormGradOp::create(builder, getLoc(), getX().getType(),
                                  resultGrads[0], getY(), getInvstd(),
                                  getCenter())};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static Axes rowAxes(Value x) {
  Axes axes = usualAxes(x);
  axes.back() = none;
  return axes;
}

Grid LayerNormOp::extents() { return extentsAlong(rowAxes(getX()), getX()); }
Grid LayerNormGradOp::extents() {
  return extentsAlong(rowAxes(getDy()), getDy());
}

/// The parts of rows and of their statistics.
static std::pair<Box, Box> rowsAndStatistics(Value x, const Cuts &cuts,
                                             const Grid &index) {
  Box rows = cut(rowAxes(x), x, cuts, index), statistics = rows;
  statistics.back() = {0, 1};
  return {rows, statistics};
}

Tile LayerNormOp::tile(const Cuts &cuts, const Grid &index) {
  auto [rows, statistics] = rowsAndStatistics(getX(), cuts, index);
  Tile tile;
  tile.operands = {rows};
  tile.results = {rows, statistics};
  return tile;
}

Tile LayerNormGradOp::tile(const Cuts &cuts, const Grid &index) {
  auto [rows, statistics] = rowsAndStatistics(getDy(), cuts, index);
  Tile tile;
  tile.operands = {rows, rows, statistics};
  tile.results = {rows};
  return tile;
}

//===- Embedding.cpp - Rows of a table by their numbers -------------------===//
//
// The rows of a table that data names: embeddings. Cut along samples every tile
// reads the whole table, and the parts of its gradient are added up, unless
// each sample has a table of its own; cut along channels a tile has some of the
// table's columns. The table's rows are never cut.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks a table [rows, d] or tables [n, rows, d], numbers [n, t] and rows of
/// it [n, t, d].
static LogicalResult verifyShapes(Operation *op, Value table, Value at,
                                  Value y) {
  if (failed(expectRank(op, "at", at, 2)))
    return failure();
  Dims ofTable(shapeOf(table)), expected(shapeOf(at));
  if (ofTable.size() == 3) {
    Dims tables = ofTable;
    tables[0] = expected[0];
    if (failed(expectShape(op, "table", table, tables)))
      return failure();
  } else if (failed(expectRank(op, "table", table, 2))) {
    return failure();
  }
  expected.push_back(ofTable.back());
  return expectShape(op, "what is taken", y, expected);
}

LogicalResult EmbeddingOp::verify() {
  return verifyShapes(*this, getTable(), getAt(), getY());
}

LogicalResult EmbeddingGradOp::verify() {
  return verifyShapes(*this, getDtable(), getAt(), getDy());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> EmbeddingOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = EmbeddingGradOp::create(builder, getLoc(), getTable().getType(),
                                       resultGrads[0], getAt());
  return grads; // of the numbers it is 0 wherever there is one
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Of what is taken; the samples of its numbers are cut alike.
static const Axes takenAxes = {n, none, c};

static Axes tableAxes(Value table) {
  return shapeOf(table).size() == 3 ? takenAxes : Axes{none, c};
}

Grid EmbeddingOp::extents() { return extentsAlong(takenAxes, getY()); }
Grid EmbeddingGradOp::extents() { return extentsAlong(takenAxes, getDy()); }

Tile EmbeddingOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  tile.operands = {cut(tableAxes(getTable()), getTable(), cuts, index),
                   cut({n, none}, getAt(), cuts, index)};
  tile.results = {cut(takenAxes, getY(), cuts, index)};
  return tile;
}

Tile EmbeddingGradOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  tile.operands = {cut(takenAxes, getDy(), cuts, index),
                   cut({n, none}, getAt(), cuts, index)};
  tile.results = {cut(tableAxes(getDtable()), getDtable(), cuts, index)};
  return tile;
}

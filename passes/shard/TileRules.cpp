//===- TileRules.cpp - How an op of a layer is cut ------------------------===//

#include "passes/shard/TileRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

Cuts shard::cutsOf(TilingAttr tiling) {
  Cuts cuts;
  cuts.degrees = {tiling.getN(), tiling.getC(), tiling.getH(), tiling.getW(),
                  tiling.getK()};
  if (DictionaryAttr sizes = tiling.getSizes())
    for (auto [dim, letter] : llvm::enumerate(StringRef("nchwk")))
      if (auto list = sizes.getAs<DenseI64ArrayAttr>(StringRef(&letter, 1)))
        cuts.sizes[dim] = list.asArrayRef().vec();
  return cuts;
}

Shape shard::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().vec();
}

Grid shard::extentsOf(Operation *op) {
  auto tileable = dyn_cast<TileableOpInterface>(op);
  return tileable ? tileable.extents() : Grid{1, 1, 1, 1, 1};
}

Cuts shard::cutsOf(Operation *op, const Cuts &layer) {
  Cuts cuts;
  auto tileable = dyn_cast<TileableOpInterface>(op);
  if (!tileable)
    return cuts;
  Grid extents = tileable.extents();
  for (int dim : {n, c, h, w, k})
    if (layer.fit(dim, extents[dim]))
      cuts.cutAlong(dim, layer);
  for (int dim : {n, c, h, w, k})
    if (cuts.degrees[dim] > 1 && !tileable.allows(cuts, dim))
      cuts.dontCutAlong(dim);
  return cuts;
}

/// The only tile of an op that is not cut: operands and results are whole.
static Tile wholeTile(Operation *op) {
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(wholeOf(shapeOf(operand)));
  for (Value result : op->getResults())
    tile.results.push_back(wholeOf(shapeOf(result)));
  return tile;
}

Tile shard::tileOf(Operation *op, const Cuts &cuts, const Grid &index) {
  return cuts.none() ? wholeTile(op)
                     : cast<TileableOpInterface>(op).tile(cuts, index);
}

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

static Cuts cutsWithin(const Grid &extents, const Cuts &layer) {
  Cuts cuts;
  for (int dim : {n, c, h, w, k})
    if (layer.fit(dim, extents[dim]))
      cuts.cutAlong(dim, layer);
  return cuts;
}

Cuts shard::cutsOfFollowing(const Grid &extents, const Cuts &layer) {
  Cuts cuts = cutsWithin(extents, layer);
  if (cuts.degrees[k] < layer.degrees[k])
    for (int dim : {c, n}) {
      Cuts divided;
      divided.degrees[dim] = layer.degrees[dim] * layer.degrees[k];
      if (divided.fit(dim, extents[dim])) {
        cuts.cutAlong(dim, divided);
        break;
      }
    }
  return cuts;
}

Cuts shard::cutsOf(Operation *op, const Cuts &layer) {
  auto tileable = dyn_cast<TileableOpInterface>(op);
  if (!tileable)
    return {};
  Cuts cuts = op->hasTrait<FollowingOp>()
                  ? cutsOfFollowing(tileable.extents(), layer)
                  : cutsWithin(tileable.extents(), layer);
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

void shard::forEachTile(
    const Cuts &cuts, const Cuts &layer,
    llvm::function_ref<void(const Grid &index, int64_t number)> visit) {
  // Where an op divides another dimension instead of the reduction, neighbours
  // along that are the layer's neighbours along the reduction.
  int divided = none;
  for (int dim : {c, n})
    if (cuts.degrees[dim] > layer.degrees[dim])
      divided = dim;
  for (Grid index = {}; index[0] < cuts.degrees[0];) {
    Grid ofLayer = index;
    if (divided != none) {
      ofLayer[k] = index[divided] % layer.degrees[k];
      ofLayer[divided] = index[divided] / layer.degrees[k];
    }
    int64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d)
      number = number * layer.degrees[d] + ofLayer[d];
    visit(index, number);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < cuts.degrees[d] || d == 0)
        break;
      index[d] = 0;
    }
  }
}

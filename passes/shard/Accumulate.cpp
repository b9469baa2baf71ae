//===- Accumulate.cpp - Gradients that one lane makes tile by tile --------===//
//
// Several tiles of a layer on one lane, such as micro-batches, each contribute
// to the gradients of its parameters. Each contribution is added to those
// before as soon as it is there, so that a lane holds one sum and one
// contribution of a gradient, not one contribution per tile. Lanes and devices
// are added up by whoever needs the gradient (Pieces.h).
//
// Contributions are added in the order in which the lane makes them: that of
// the plan, then by tile. Tiles that the plan does not name come last, since a
// task must not wait for what may come behind it.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// When the plan has an op's lane make its tile: its position in the lane's
/// order, the largest number if it has none. As for the schedule, `backward` is
/// also `weight` where that is not named.
static size_t positionOf(ArrayAttr lanes, Operation *made) {
  constexpr size_t none = std::numeric_limits<size_t>::max();
  if (!lanes)
    return none;
  PlaceAttr place =
      made->getAttrOfType<TilingAttr>(tilingAttr).getPlaces().front();
  std::optional<int64_t> tile = workOf(made).getTile();
  for (Phase phase : {Phase::weight, Phase::backward})
    for (auto lane : lanes.getAsRange<LaneOrderAttr>())
      for (auto [i, task] : llvm::enumerate(lane.getTasks()))
        if (lane.getLane() == place && task.getLayer() == layerOf(made) &&
            task.getPhase() == phase &&
            (!task.getTile() || task.getTile() == tile))
          return i;
  return none;
}

void FunctionSharder::accumulate(Operation *op, Tiles &tiles) {
  auto lanes = shared.module->getAttrOfType<ArrayAttr>(orderAttr);
  std::vector<std::pair<size_t, size_t>> order; // position in the plan, tile
  for (auto [i, tile] : llvm::enumerate(tiles))
    order.push_back({positionOf(lanes, tile.first), i});
  llvm::sort(order);

  struct Sum {
    OpResult whole;
    Box region;
    Value value;
    std::optional<Box> kept;
  };
  std::vector<Sum> sums;
  for (auto [position, i] : order) {
    auto &[made, tile] = tiles[i];
    auto result = made->result_begin();
    for (auto [whole, box] : llvm::zip_equal(op->getResults(), tile.results)) {
      if (!box)
        continue;
      Value value = *result++;
      auto before =
          llvm::find_if(sums, [&, whole = whole, &box = box](const Sum &sum) {
            return sum.whole == whole && sum.region == *box &&
                   sum.kept == tile.kept &&
                   placeOf(sum.value) == placeOf(value);
          });
      if (before == sums.end()) {
        sums.push_back({whole, *box, value, tile.kept});
        continue;
      }
      Operation *earlier = before->value.getDefiningOp();
      builder.setInsertionPointAfter(earlier->isBeforeInBlock(made) ? made
                                                                    : earlier);
      auto sum = SumOp::create(builder, op->getLoc(), value.getType(),
                               ValueRange{before->value, value});
      describe(sum, placeOf(value), purposeOf(op), nameOf(whole));
      setWork(sum, layerOf(op), phaseOf(op), workOf(made).getTile());
      before->value = sum;
    }
  }
  builder.setInsertionPointToEnd(body);
  for (const Sum &sum : sums)
    pieces.add(sum.whole, sum.region, sum.value, sum.kept);
}

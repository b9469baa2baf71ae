//===- Updates.cpp - Who updates a parameter that lies in copies ----------===//
//
// A trainable parameter is updated once per part, by an owner among the devices
// that hold it, which sums the gradients and sends the new values to the other
// copies; optimizer state lives with the owner only. Owners are balanced by
// bytes. Running statistics have no owner: whoever makes them sends them.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// The parts of a parameter that are updated as one: of its copies, those that
/// overlap, with all elements between them.
static std::vector<Box> regionsOf(ArrayRef<Part> parts) {
  std::vector<Box> regions;
  for (const Part &part : parts) {
    Box hull = part.region;
    for (size_t i = 0; i < regions.size();)
      if (!empty(intersect(regions[i], hull))) {
        hull = hullOf(hull, regions[i]);
        regions.erase(regions.begin() + i);
        i = 0; // it may reach others now
      } else {
        ++i;
      }
    regions.push_back(hull);
  }
  llvm::sort(regions);
  return regions;
}

/// A copy of just this region, on the device that owns the fewest bytes.
Part &FunctionSharder::ownerOf(StringRef parameter, const Box &region) {
  std::vector<Part> &parts = shared.parameters[parameter];
  auto load = [&](const Part &part) {
    return shared.ownedBytes[{part.place.getNode(), part.place.getGpu()}];
  };
  Part *best = nullptr;
  for (Part &part : parts)
    if (part.region == region && (!best || load(part) < load(*best)))
      best = &part;
  if (!best) {
    ReadOp read = reads.lookup(parameter);
    PlaceAttr place = parts.front().place;
    parts.push_back(
        {region, place,
         shared.makePart(shared.symbols.lookup<ParameterOp>(parameter), region,
                         place)});
    pieces.add(read.getValue(), region, readPart(read, parts.back()));
    best = &parts.back();
  }
  int64_t bytes = 4;
  for (Interval axis : region)
    bytes *= axis.size();
  shared.ownedBytes[{best->place.getNode(), best->place.getGpu()}] += bytes;
  return *best;
}

/// The optimizer's op of a parameter, once per part, at its owner.
void FunctionSharder::update(SgdOp op, ArrayRef<WriteOp> writes) {
  auto parameterOf = [](Value value) {
    return cast<ReadOp>(value.getDefiningOp()).getParameter();
  };
  StringRef weight = parameterOf(op.getW());
  if (shared.parameters[weight].empty()) // nobody reads it but its update
    pieces.get(op.getW(), wholeOf(shapeOf(op.getW())),
               op->getAttrOfType<TilingAttr>(tilingAttr).getPlaces()[0],
               purposeOf(op));
  for (const Box &region : regionsOf(shared.parameters[weight])) {
    PlaceAttr place = ownerOf(weight, region).place;
    Tile tile;
    for (Value operand : op->getOperands()) {
      bool state =
          operand == op.getW() || operand == op.getG() || operand == op.getM();
      tile.operands.push_back(state ? region : wholeOf(shapeOf(operand)));
    }
    tile.results.assign(op->getNumResults(), region);
    addPieces(op, makeTile(op, tile, place, ""), tile);
  }
  for (WriteOp each : writes)
    write(each);
}

/// Every copy gets the new value.
void FunctionSharder::write(WriteOp write) {
  // By index: what is written was read, so no copy is added here.
  for (const Part &part : shared.parameters[write.getParameter()]) {
    Value value =
        pieces.get(write.getValue(), part.region, part.place, purposeOf(write));
    auto made = WriteOp::create(builder, write.getLoc(), part.parameter, value);
    made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
    setPlace(made, placeOf(value));
  }
}

//===- Updates.cpp - Who updates a parameter that lies in copies ----------===//
//
// Where several devices hold a parameter, there are three ways to update it;
// all read the gradients where they are and sum them in one order:
//   - each device owns and updates a part, which the others fetch (a
//     reduce-scatter and an all-gather); optimizer state lies with the owner;
//   - a parameter of few bytes every device updates for itself (an all-reduce):
//     the second exchange would cost more than the bytes it saves;
//   - one that cannot be cut into as many parts has fewer owners, balanced by
//     bytes.
// This goes on beside the computation, on the lanes of the transfers. Running
// statistics have no owner: whoever makes them sends them.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Updates.h"
#include "ir/exec/Exec.h"
#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

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

static int64_t bytesOf(const Box &region, Type tensor) {
  int64_t bytes = elementBytes(tensor);
  for (Interval axis : region)
    bytes *= axis.size();
  return bytes;
}

/// Cuts a region that lies in several copies so that each of their devices
/// updates a part: then no device sends or receives much more than the others.
/// A part begins at an address that every kernel accepts, so that it can be
/// updated and written in place.
static std::vector<Box> partsToUpdate(const Box &region, Type tensor,
                                      int64_t copies) {
  int64_t rowBytes = elementBytes(tensor);
  for (size_t d = 1; d < region.size(); ++d)
    rowBytes *= region[d].size();
  int64_t step =
      exec::arenaAlignment / std::gcd(exec::arenaAlignment, rowBytes);
  int64_t rows = region.empty() ? 1 : region[0].size();
  int64_t count = std::min(copies, rows / step);
  std::vector<Box> parts;
  for (int64_t i = 0; i < count; ++i) {
    // Whole steps; the last part has what is left.
    Interval steps = partOf(rows / step, count, i);
    Box part = region;
    part[0].end =
        i + 1 < count ? region[0].begin + steps.end * step : region[0].end;
    part[0].begin += steps.begin * step;
    parts.push_back(part);
  }
  return count > 1 ? parts : std::vector<Box>{region};
}

/// A copy that is just `region`, on the device that owns the fewest bytes,
/// which from now on owns `part` of it, too.
Part &FunctionSharder::ownerOf(StringRef parameter, const Box &region,
                               const Box &part) {
  std::vector<Part> &copies = shared.parameters[parameter];
  auto load = [&](const Part &copy) {
    return shared.ownedBytes[copy.place.getValue().device()];
  };
  Part *best = nullptr;
  for (Part &copy : copies)
    if (copy.region == region && (!best || load(copy) < load(*best)))
      best = &copy;
  if (!best) {
    ReadOp read = reads.lookup(parameter);
    PlaceAttr place = copies.front().place;
    copies.push_back(
        {region, place,
         shared.makePart(shared.symbols.lookup<ParameterOp>(parameter), region,
                         place)});
    pieces.add(read.getValue(), region, readPart(read, copies.back()));
    best = &copies.back();
  }
  shared.ownedBytes[best->place.getValue().device()] +=
      bytesOf(part, reads.lookup(parameter).getType());
  return *best;
}

/// The optimizer's op for a part of a parameter, at one device.
void FunctionSharder::updatePart(UpdateOpInterface op, const Box &part,
                                 PlaceAttr place) {
  assert(op.getGradientTerms().size() == 1 && "one gradient until it is cut");
  Value gradient = op.getGradientTerms()[0].get();
  SmallVector<Value> terms = pieces.terms(gradient, part, place, purposeOf(op));
  // More than a kernel takes (Ops.h) are summed before.
  if (terms.size() > maxTerms)
    terms = {pieces.get(gradient, part, place, purposeOf(op))};
  bool exchanges = llvm::any_of(
      terms, [](Value term) { return term.getDefiningOp<TransferOp>(); });
  if (exchanges)
    place =
        PlaceAttr::get(op.getContext(), place.getValue().on(Lane::transfer()));
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(llvm::is_contained(op.getUpdated(), operand)
                                ? part
                                : wholeOf(shapeOf(operand)));
  // The gradient: below.
  tile.operands[op.getGradientTerms()[0].getOperandNumber()] = std::nullopt;
  tile.results.assign(op->getNumResults(), part);
  Operation *made = makeTile(op, tile, place, /*position=*/{});
  cast<UpdateOpInterface>(made).getGradientTerms().assign(terms);
  addPieces(op, made, tile);
}

/// The optimizer's op of a parameter, for each of its parts where it is owned.
void FunctionSharder::update(UpdateOpInterface op, ArrayRef<WriteOp> writes) {
  auto parameterOf = [](Value value) {
    return cast<ReadOp>(value.getDefiningOp()).getParameter();
  };
  StringRef weight = parameterOf(op.getWeight());
  if (shared.parameters[weight].empty()) // nobody reads it but its update
    pieces.get(op.getWeight(), wholeOf(shapeOf(op.getWeight())),
               op->getAttrOfType<TilingAttr>(tilingAttr).getPlaces()[0],
               purposeOf(op));
  for (Value result : op->getResults())
    pieces.setCopies(result);
  std::vector<Box> updated;
  for (const Box &region : regionsOf(shared.parameters[weight])) {
    std::vector<PlaceAttr> holders;
    for (const Part &copy : shared.parameters[weight])
      if (copy.region == region)
        holders.push_back(copy.place);
    if (isAllReduced(bytesOf(region, op.getWeight().getType()),
                     holders.size())) {
      for (PlaceAttr place : holders)
        updatePart(op, region, place);
      updated.push_back(region);
      continue;
    }
    std::vector<Box> parts =
        partsToUpdate(region, op.getWeight().getType(), holders.size());
    for (auto [i, part] : llvm::enumerate(parts)) {
      bool everybody = parts.size() == holders.size();
      updatePart(op, part,
                 everybody ? holders[i] : ownerOf(weight, region, part).place);
      updated.push_back(part);
    }
  }
  for (WriteOp each : writes)
    write(each, updated);
}

/// Every copy gets the new value, one by one of the parts that were made.
void FunctionSharder::write(WriteOp write, ArrayRef<Box> made) {
  // By index: what is written was read, so no copy is added here.
  for (const Part &copy : shared.parameters[write.getParameter()])
    for (const Box &part : made) {
      Box region = intersect(copy.region, part);
      if (empty(region))
        continue;
      Value value =
          pieces.get(write.getValue(), region, copy.place, purposeOf(write));
      auto op =
          WriteOp::create(builder, write.getLoc(), copy.parameter, value, {});
      op->setDiscardableAttrs(write->getDiscardableAttrDictionary());
      setPlace(op, placeOf(value));
      if (region != copy.region)
        op.setBegin(offsetIn(copy.region, region));
    }
}

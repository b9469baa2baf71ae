//===- Updates.cpp - How copies of a parameter are updated ----------------===//
//
// Where several devices hold copies of a parameter, one of three methods
// updates them. In each, gradients are read where they were made and added in
// one fixed order.
// - Reduce-scatter and all-gather: each device owns a part, updates it and
//   sends its new values to the others. Optimizer state lies with the owner
//   alone (Xu et al., "Automatic cross-replica sharding of weight update in
//   data-parallel training", 2020; ZeRO stage 1).
// - All-reduce, for few bytes (isAllReduced, Updates.h): every device updates
//   its whole copy, which saves the second exchange.
// - Fewer owners than copies, where the region has too few aligned rows or
//   parts that cross the network would be small (ownersAcrossNodes): each part
//   goes to the device that owns the fewest bytes. So does a whole parameter,
//   where the optimizer needs its norm; a device gets a copy of the whole if
//   none has one.
//
// Updates that read from other devices run on the `sync` lanes, beside the
// computation. Running statistics have no owner: the device that computes them
// sends them to the others.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Updates.h"
#include "ir/exec/Exec.h"
#include "ir/place/Layout.h"
#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// The regions of a parameter that are updated as one: the connected components
/// of its parts under overlap, each as its bounding box.
static std::vector<Box> regionsOf(ArrayRef<Part> parts) {
  std::vector<Box> regions;
  for (const Part &part : parts) {
    Box hull = part.region;
    for (size_t i = 0; i < regions.size();)
      if (!empty(intersect(regions[i], hull))) {
        hull = hullOf(hull, regions[i]);
        regions.erase(regions.begin() + i);
        i = 0; // the larger hull may overlap regions that were passed
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

/// Cuts a region into `count` parts of nearly equal size, or fewer, so that
/// devices send and receive about equally much. A part begins at a multiple of
/// the arena's alignment, so that a kernel can update it in place and write it
/// there. Copies of other regions may not allow that.
static std::vector<Box> partsToUpdate(const Box &region, Type tensor,
                                      int64_t count, ArrayRef<Part> copies) {
  int64_t rowBytes = elementBytes(tensor);
  for (size_t d = 1; d < region.size(); ++d)
    rowBytes *= region[d].size();
  int64_t step =
      exec::arenaAlignment / std::gcd(exec::arenaAlignment, rowBytes);
  int64_t rows = region.empty() ? 1 : region[0].size();
  count = std::min(count, rows / step);
  std::vector<Box> parts;
  for (int64_t i = 0; i < count; ++i) {
    // Each part has whole steps; the last part also has the remaining rows.
    Interval steps = partOf(rows / step, count, i);
    Box part = region;
    part[0].end =
        i + 1 < count ? region[0].begin + steps.end * step : region[0].end;
    part[0].begin += steps.begin * step;
    parts.push_back(part);
  }
  auto liesIn = [&](const Box &copy, const Box &part) {
    const Box common = intersect(copy, part);
    return empty(common) || common == copy ||
           tiling::partOffset(copy, common, elementBytes(tensor));
  };
  for (const Part &copy : copies)
    if (copy.region != region && !llvm::all_of(parts, [&](const Box &part) {
          return liesIn(copy.region, part);
        }))
      return {region};
  return count > 1 ? parts : std::vector<Box>{region};
}

/// Makes a device the owner of `part`: of the devices with a copy that is
/// exactly `region`, the one that owns the fewest bytes. If there is none, of
/// the devices with any copy, which gets such a copy.
Part &FunctionSharder::ownerOf(StringRef parameter, const Box &region,
                               const Box &part) {
  std::vector<Part> &copies = shared.parameters[parameter];
  auto load = [&](const Part &copy) {
    return shared.ownedBytes[copy.place.getValue().device()];
  };
  auto isLessLoaded = [&](const Part &a, const Part &b) {
    return load(a) < load(b);
  };
  Part *best = nullptr;
  for (Part &copy : copies)
    if (copy.region == region && (!best || isLessLoaded(copy, *best)))
      best = &copy;
  if (!best) {
    ReadOp read = reads.lookup(parameter);
    PlaceAttr place = llvm::min_element(copies, isLessLoaded)->place;
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

static Ways waysBetween(ArrayRef<PlaceAttr> holders, int64_t bytes) {
  std::vector<int64_t> nodes;
  for (PlaceAttr holder : holders)
    nodes.push_back(holder.getValue().node);
  return Ways(nodes, bytes);
}

/// The rails of a part whose owner is one of the holders.
static Pieces::Rails railsOf(size_t owner, const Ways &ways,
                             ArrayRef<PlaceAttr> holders) {
  auto railAt = [&](size_t holder) {
    Place place = holders[holder].getValue();
    return PlaceAttr::get(holders[holder].getContext(),
                          place.on(Lane::of(LaneKind::sync)));
  };
  const int64_t home = holders[owner].getValue().node;
  Pieces::Rails rails = {{1}};
  for (auto &[node, others] : ways.byNode())
    if (node != home)
      rails[0].at[node] = railAt(ways.railOfNode(node, owner));
  if (ways.ofGroup() == 1)
    return rails;
  rails.push_back({ways.ofGroup()});
  for (auto &[group, others] : ways.byGroup())
    if (group != ways.groupOf(home))
      rails[1].at[group] = railAt(ways.railOfGroup(group, owner));
  return rails;
}

/// The terms of the gradient of one part, for the device that updates it.
SmallVector<Value> FunctionSharder::gradientTerms(Value gradient,
                                                  const UpdatedPart &part,
                                                  Purpose purpose) {
  SmallVector<Value> terms =
      pieces.terms(gradient, part.region, part.place, purpose, part.rails);
  // A kernel takes at most `maxTerms` gradients (Ops.h); more are summed before
  // it.
  if (terms.size() > maxTerms)
    terms = {pieces.get(gradient, part.region, part.place, purpose)};
  return terms;
}

PlaceAttr shard::placeForTerms(ArrayRef<Value> terms, PlaceAttr place) {
  bool exchanges = llvm::any_of(
      terms, [](Value term) { return term.getDefiningOp<TransferOp>(); });
  if (exchanges)
    return PlaceAttr::get(place.getContext(),
                          place.getValue().on(Lane::of(LaneKind::sync)));
  if (terms.size() == 1 && !shard::placeOf(terms[0]).getValue().lane.isCopy())
    return shard::placeOf(terms[0]); // the lane that made it, off others' ways
  return place;
}

/// Makes the update op of one part of a parameter, at one place.
void FunctionSharder::updatePart(UpdateOpInterface op,
                                 const UpdatedPart &updated,
                                 ArrayRef<Value> terms) {
  const Box &part = updated.region;
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(llvm::is_contained(op.getUpdated(), operand)
                                ? part
                                : wholeOf(shapeOf(operand)));
  // The gradient's terms are assigned to the new op below.
  tile.operands[op.getGradientTerms()[0].getOperandNumber()] = std::nullopt;
  tile.results.assign(op->getNumResults(), part);
  Operation *made =
      makeTile(op, tile, placeForTerms(terms, updated.place), /*position=*/{});
  cast<UpdateOpInterface>(made).getGradientTerms().assign(terms);
  addPieces(op, made, tile);
}

/// Which parts of a parameter are updated where.
std::vector<UpdatedPart> FunctionSharder::partsOfUpdate(UpdateOpInterface op) {
  auto parameterOf = [](Value value) {
    return cast<ReadOp>(value.getDefiningOp()).getParameter();
  };
  StringRef weight = parameterOf(op.getWeight());
  const Box whole = wholeOf(shapeOf(op.getWeight()));
  std::vector<Box> regions = regionsOf(shared.parameters[weight]);
  int64_t read = 0;
  for (const Box &region : regions)
    read += bytesOf(region, op.getWeight().getType());
  const bool isWhole = op.needsWhole();
  if (read < bytesOf(whole, op.getWeight().getType())) {
    // What no tile reads is stored and updated, too.
    pieces.get(op.getWeight(), whole,
               op->getAttrOfType<TilingAttr>(tilingAttr).getPlaces()[0],
               purposeOf(op));
    regions = {whole};
  } else if (isWhole) {
    regions = {whole};
  }
  std::vector<UpdatedPart> updated;
  for (const Box &region : regions) {
    std::vector<PlaceAttr> holders;
    for (const Part &copy : shared.parameters[weight])
      if (copy.region == region)
        holders.push_back(copy.place);
    // Where some hold a part of what is updated whole, its owner sends them
    // that.
    const bool allHold = holders.size() == shared.parameters[weight].size();
    if ((!isWhole || allHold) &&
        isAllReduced(bytesOf(region, op.getWeight().getType()),
                     holders.size())) {
      for (PlaceAttr place : holders)
        updated.push_back({region, place, {}, place == holders.front()});
      continue;
    }
    const int64_t bytes = bytesOf(region, op.getWeight().getType());
    const Ways ways = waysBetween(holders, bytes);
    const bool twoLevel = !isWhole && isTwoLevel(bytes) && ways.nodes() > 1;
    std::vector<Box> parts = partsToUpdate(
        region, op.getWeight().getType(),
        isWhole    ? 1
        : twoLevel ? ownersAcrossNodes(bytes, holders.size(), ways)
                   : holders.size(),
        shared.parameters[weight]);
    for (auto [i, part] : llvm::enumerate(parts)) {
      bool everybody = parts.size() == holders.size();
      PlaceAttr owner =
          everybody ? holders[i] : ownerOf(weight, region, part).place;
      updated.push_back({part, owner, {}});
      if (twoLevel)
        updated.back().rails = railsOf(
            llvm::find(holders, owner) - holders.begin(), ways, holders);
    }
  }
  return updated;
}

/// How many nodes form a group where new values are handed out.
static int64_t groupSize(ArrayRef<UpdatedPart> parts) {
  int64_t nodes = 1;
  for (const UpdatedPart &part : parts)
    for (const Pieces::Level &level : part.rails)
      nodes = std::max(nodes, level.nodes);
  return nodes;
}

/// Makes the update ops of a parameter: one per part and owner.
void FunctionSharder::update(UpdateOpInterface op,
                             ArrayRef<UpdatedPart> parts) {
  for (Value result : op->getResults())
    pieces.setCopies(result, {}, groupSize(parts));
  assert(op.getGradientTerms().size() == 1 && "one gradient until it is cut");
  auto termsOf = [&](const UpdatedPart &part) {
    return gradientTerms(op.getGradientTerms()[0].get(), part, purposeOf(op));
  };
  // What rails sum comes before all updates: owners wait for it.
  std::vector<SmallVector<Value>> onRails;
  for (const UpdatedPart &part : parts)
    onRails.push_back(part.rails.empty() ? SmallVector<Value>()
                                         : termsOf(part));
  for (auto [part, terms] : llvm::zip_equal(parts, onRails))
    updatePart(op, part, part.rails.empty() ? termsOf(part) : terms);
}

/// Each part where the parameter's part is updated: nothing is sent for it.
void FunctionSharder::average(AverageOp op, ArrayRef<UpdatedPart> parts) {
  const double decay = op.getDecay().convertToDouble();
  const std::string text =
      floatLiteral(static_cast<float>(decay)) + " * x0 + " +
      floatLiteral(static_cast<float>(1 - decay)) + " * x1";
  pieces.setCopies(op.getUpdated(), {}, groupSize(parts));
  for (const auto &[region, place, rails, isFirst] : parts) {
    SmallVector<Value> inputs;
    for (Value operand : op.getOperands())
      inputs.push_back(pieces.get(operand, region, place, purposeOf(op)));
    MapOp made = buildMap(builder, op.getLoc(),
                          typeAt(op.getUpdated().getType(), region, place),
                          llvm::cantFail(Expression::parse(text)), inputs);
    describe(made, place, purposeOf(op), nameOf(op.getAverage()));
    pieces.add(op.getUpdated(), region, made.getY());
  }
}

/// Writes the new values to every copy, one write per updated part that the
/// copy overlaps.
void FunctionSharder::write(WriteOp write, ArrayRef<UpdatedPart> made) {
  // The list does not grow here: every copy that is written exists already.
  ArrayRef<Part> copies = shared.parameters[write.getParameter()];
  // Rails come first, so that others take the values from them. Those of groups
  // have all parts before those of nodes ask for any: else the lanes of all
  // would fetch one part after the other, each waiting for the lane before it.
  // State that only its owner holds goes nowhere.
  auto isHeld = [&](Place rail, const Box &region) {
    return llvm::any_of(copies, [&](const Part &copy) {
      return copy.place.getValue().device() == rail.device() &&
             contains(copy.region, region);
    });
  };
  size_t levels = 0;
  for (const UpdatedPart &part : made)
    levels = std::max(levels, part.rails.size());
  for (size_t level = levels; level-- > 0;)
    for (const UpdatedPart &part : made)
      if (level < part.rails.size())
        for (auto &[group, rail] : part.rails[level].at)
          if (isHeld(rail.getValue(), part.region))
            pieces.addCopy(write.getValue(), part.region, rail,
                           purposeOf(write));
  for (const Part &copy : copies)
    for (const UpdatedPart &part : made) {
      Box region = intersect(copy.region, part.region);
      if (!part.isFirst || empty(region))
        continue;
      Value value =
          pieces.get(write.getValue(), region, copy.place, purposeOf(write));
      auto op =
          WriteOp::create(builder, write.getLoc(), copy.parameter, value, {});
      NamedAttrList attributes(write->getDiscardableAttrDictionary());
      attributes.set(tilingAttr, oneTileAt(placeOf(value)));
      op->setDiscardableAttrs(attributes.getDictionary(op->getContext()));
      if (region != copy.region)
        op.setBegin(offsetIn(copy.region, region));
    }
}

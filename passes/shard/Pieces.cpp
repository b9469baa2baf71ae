//===- Pieces.cpp - Values that lie in pieces on several devices ----------===//

#include "passes/shard/Pieces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

RankedTensorType shard::typeAt(Type like, const Box &region, PlaceAttr place) {
  return RankedTensorType::get(
      shapeOf(region), cast<RankedTensorType>(like).getElementType(), place);
}

PlaceAttr shard::placeOf(Value value) {
  return cast<PlaceAttr>(cast<RankedTensorType>(value.getType()).getEncoding());
}

SmallVector<int64_t> shard::offsetIn(const Box &outer, const Box &region) {
  SmallVector<int64_t> offset;
  for (auto [o, r] : llvm::zip_equal(outer, region))
    offset.push_back(r.begin - o.begin);
  return offset;
}

TilingAttr shard::oneTileAt(PlaceAttr place) {
  return TilingAttr::get(place.getContext(), 1, 1, 1, 1, 1, {place}, {});
}

/// What `describe` sets, as one dictionary: to set one attribute after the
/// other makes one for each.
static DictionaryAttr description(PlaceAttr place, const Purpose &purpose,
                                  StringRef name) {
  Builder builder(place.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(namesAttr, builder.getStrArrayAttr({name})),
       builder.getNamedAttr(tilingAttr, oneTileAt(place)),
       builder.getNamedAttr(workAttr,
                            WorkAttr::get(place.getContext(), purpose.layer,
                                          purpose.phase, std::nullopt))});
}

void shard::describe(Operation *op, PlaceAttr place, Purpose purpose,
                     StringRef name) {
  for (NamedAttribute attr : description(place, purpose, name))
    op->setAttr(attr.getName(), attr.getValue());
}

void Pieces::add(Value original, const Box &region, Value tile,
                 const std::optional<Box> &kept) {
  Part piece = {region, numberOf(tile)};
  if (kept) {
    Operation *op = tile.getDefiningOp();
    serve(original, {layerOf(op), phaseOf(op)});
    piece = Assembler::cut(piece, *kept);
  }
  sources[original].pieces.push_back(piece);
}

void Pieces::replace(Value original, const Box &region, Value tile) {
  std::vector<Part> &known = sources[original].pieces;
  llvm::erase_if(known, [&](const Part &piece) {
    assert((contains(region, piece.region) || !overlap(region, piece.region)) &&
           "a piece is replaced whole");
    return contains(region, piece.region);
  });
  known.push_back({region, numberOf(tile)});
}

void Pieces::setCopies(Value original, MakeCopy make, int64_t nodesOfGroup) {
  Source &source = sources[original];
  source.copies = true;
  source.make = std::move(make);
  source.nodesOfGroup = nodesOfGroup;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

void Pieces::serve(Value value, Purpose wanted) {
  StringRef called = nameOf(value);
  if (purpose.layer != wanted.layer || purpose.phase != wanted.phase ||
      name != called)
    descriptions.clear();
  purpose = wanted;
  name = called;
  like = value.getType();
  loc = value.getLoc();
}

Value Pieces::get(Value original, const Box &region, PlaceAttr place,
                  Purpose wanted) {
  Value &known = made[original][{region, place.getValue().device()}];
  if (known)
    return known;
  serve(original, wanted);
  Place at = place.getValue();
  Source &source = sources[original];
  if (source.copies) {
    // Labels are too small to be cut: each part of them is a copy.
    bool mayCut = isa<FloatType>(getElementTypeOrSelf(original.getType()));
    for (const Part &piece : source.pieces)
      if (placeOf(piece.value).device() == at.device() &&
          (piece.region == region ||
           (mayCut && contains(piece.region, region))))
        return known = values[Assembler::cut(piece, region).value];
    if (Value copy = source.make ? source.make(region, place) : Value()) {
      source.pieces.push_back({region, numberOf(copy)});
      return known = copy;
    }
    return known =
               values[combine(partsOfCopies(source, region, at), region, at)];
  }
  return known =
             values[combine(partsOf(source.pieces, region, at), region, at)];
}

SmallVector<Value> Pieces::terms(Value original, const Box &region,
                                 PlaceAttr place, Purpose wanted,
                                 const Rails &rails) {
  serve(original, wanted);
  Place at = place.getValue();
  std::vector<Part> parts = partsOf(sources[original].pieces, region, at);
  for (const Level &level : rails)
    parts = sumOnRails(std::move(parts), region, level);
  bool whole = !parts.empty() && llvm::all_of(parts, [&](const Part &part) {
    return part.region == region;
  });
  if (!whole || sources[original].copies)
    return {get(original, region, place, wanted)};
  // Several contributions on this device are summed, as partsOf does elsewhere.
  std::vector<Part> here;
  for (const Part &part : parts)
    if (placeOf(part.value).device() == at.device())
      here.push_back(part);
  Value local = here.empty() ? Value() : values[combine(here, region, at)];
  SmallVector<Value> terms;
  for (const Part &part : parts)
    if (placeOf(part.value).device() != at.device())
      terms.push_back(values[combine({part}, region, at)]);
    else if (local)
      terms.push_back(std::exchange(local, {}));
  return terms;
}

/// The parts of each group that has a rail, summed there; the others as they
/// are. Only contributions to the whole region: others are assembled by the
/// reader.
std::vector<Pieces::Part> Pieces::sumOnRails(std::vector<Part> parts,
                                             const Box &region,
                                             const Level &level) {
  auto railOf = [&](const Part &part) {
    auto rail = part.region == region
                    ? level.at.find(placeOf(part.value).node / level.nodes)
                    : level.at.end();
    return rail == level.at.end() ? PlaceAttr() : rail->second;
  };
  llvm::MapVector<PlaceAttr, std::vector<Part>> onRails;
  std::vector<Part> result;
  for (const Part &part : parts)
    if (PlaceAttr rail = railOf(part))
      onRails[rail].push_back(part);
    else
      result.push_back(part);
  for (auto &[rail, ofGroup] : onRails)
    result.push_back({region, ofGroup.size() == 1
                                  ? ofGroup[0].value
                                  : combine(ofGroup, region, rail.getValue())});
  return result;
}

void Pieces::addCopy(Value original, const Box &region, PlaceAttr place,
                     Purpose wanted) {
  int copy = numberOf(get(original, region, place, wanted));
  std::vector<Part> &known = sources[original].pieces;
  if (llvm::none_of(known,
                    [&](const Part &piece) { return piece.value == copy; }))
    known.push_back({region, copy});
}

Value Pieces::bring(Value tile, PlaceAttr place, Purpose wanted) {
  serve(tile, wanted);
  int number = numberOf(tile);
  Place at = place.getValue();
  return placeOf(number).device() == at.device() ? tile
                                                 : values[transfer(number, at)];
}

/// Disjoint parts of copies that together cover the region; copies on the
/// device of `place` are taken first, then those on its node, then those of its
/// group of nodes.
std::vector<Pieces::Part>
Pieces::partsOfCopies(const Source &source, const Box &region, Place place) {
  std::vector<Box> missing = {region};
  std::vector<Part> parts;
  std::array<std::vector<Part>, 4> byDistance;
  for (const Part &piece : source.pieces)
    if (overlap(piece.region, region) || empty(region)) {
      Place at = placeOf(piece.value);
      byDistance[at.device() == place.device() ? 0
                 : at.node == place.node       ? 1
                 : at.node / source.nodesOfGroup ==
                         place.node / source.nodesOfGroup
                     ? 2
                     : 3]
          .push_back(piece);
    }
  for (const std::vector<Part> &pieces : byDistance)
    for (const Part &piece : pieces) {
      if (missing.empty())
        break;
      for (const Box &hole : missing)
        if (Box part = intersect(hole, piece.region); !empty(part))
          parts.push_back(Assembler::cut(piece, part));
      missing = subtract(missing, piece.region);
    }
  assert(missing.empty() && "the copies of a value hold all of it");
  return parts;
}

//===----------------------------------------------------------------------===//
// Cutting, moving, joining, summing
//===----------------------------------------------------------------------===//

Value Pieces::cut(Value tile, const Box &region, const Box &part,
                  Purpose wanted) {
  serve(tile, wanted);
  return values[Assembler::cut({region, numberOf(tile)}, part).value];
}

int Pieces::numberOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, values.size());
  if (isNew)
    values.push_back(value);
  return entry->second;
}

Place Pieces::placeOf(int value) const {
  return shard::placeOf(values[value]).getValue();
}

SmallVector<Value> Pieces::valuesOf(ArrayRef<int> some) const {
  return llvm::map_to_vector(some, [&](int number) { return values[number]; });
}

RankedTensorType Pieces::typeAt(const Box &region, Place place) const {
  return shard::typeAt(like, region,
                       PlaceAttr::get(builder.getContext(), place));
}

/// The number of the only result of a new op.
template <typename OpT, typename... Args>
int Pieces::create(Place place, Args &&...args) {
  auto op = OpT::create(builder, loc, std::forward<Args>(args)...);
  DictionaryAttr &known = descriptions[place];
  if (!known)
    known =
        description(PlaceAttr::get(builder.getContext(), place), purpose, name);
  op->setDiscardableAttrs(known);
  return numberOf(op->getResult(0));
}

int Pieces::slice(const Part &piece, const Box &part) {
  Place at = placeOf(piece.value);
  SmallVector<int64_t> steps(part.size(), 1);
  return create<SliceOp>(at, typeAt(part, at), values[piece.value],
                         offsetIn(piece.region, part), steps);
}

/// The copy lane that fetches so many bytes for ops of a phase.
static Lane copyLaneFor(Phase phase, int64_t bytes) {
  if (bytes <= smallBytes)
    return Lane::of(LaneKind::small);
  switch (phase) {
  case Phase::forward:
    return Lane::of(LaneKind::in);
  case Phase::backward:
  case Phase::weight:
    return Lane::of(LaneKind::back);
  case Phase::update:
    return Lane::of(LaneKind::sync);
  }
  llvm_unreachable("all phases are listed");
}

int Pieces::transfer(int value, Place place) {
  auto [known, isNew] = moved.try_emplace({value, place.device()});
  if (!isNew)
    return known->second;
  auto type = cast<RankedTensorType>(values[value].getType());
  // The transfer runs on a copy lane, so that the compute lane goes on
  // meanwhile.
  Place lane = place.on(
      copyLaneFor(purpose.phase, type.getNumElements() * elementBytes(type)));
  return known->second = create<TransferOp>(
             lane,
             RankedTensorType::get(type.getShape(), type.getElementType(),
                                   PlaceAttr::get(builder.getContext(), lane)),
             values[value]);
}

int Pieces::concat(ArrayRef<int> parts, const Box &region, size_t axis,
                   Place place) {
  return create<ConcatOp>(place, typeAt(region, place), valuesOf(parts),
                          static_cast<int64_t>(axis));
}

int Pieces::pad(const Part &part, const Box &region, Place place) {
  return create<PadOp>(place, typeAt(region, place), values[part.value],
                       offsetIn(region, part.region), APFloat(0.0f));
}

/// At most `maxTerms` in one op.
int Pieces::sum(ArrayRef<int> terms, const Box &region, Place place) {
  int total = terms.front();
  for (ArrayRef<int> rest = terms.drop_front(); !rest.empty();) {
    SmallVector<int> some = {total};
    llvm::append_range(some, rest.take_front(maxTerms - 1));
    rest = rest.drop_front(some.size() - 1);
    total = create<SumOp>(place, typeAt(region, place), valuesOf(some));
  }
  return total;
}

int Pieces::zeros(const Box &region, Place place) {
  return create<FillOp>(place, typeAt(region, place), APFloat(0.0f));
}

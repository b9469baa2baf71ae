//===- Pieces.cpp - Values that lie in pieces on several devices ----------===//

#include "passes/shard/Pieces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// Whether two places share memory: lanes of one device do.
static bool onSameDevice(PlaceAttr a, PlaceAttr b) {
  return a.getValue().device() == b.getValue().device();
}

RankedTensorType shard::typeAt(Type like, const Box &region, PlaceAttr place) {
  return RankedTensorType::get(
      shapeOf(region), cast<RankedTensorType>(like).getElementType(), place);
}

void shard::setPlace(Operation *op, PlaceAttr place) {
  op->setAttr(tilingAttr,
              TilingAttr::get(op->getContext(), 1, 1, 1, 1, 1, {place}, {}));
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

void shard::describe(Operation *op, PlaceAttr place, Purpose purpose,
                     StringRef name) {
  setPlace(op, place);
  setWork(op, purpose.layer, purpose.phase);
  setNames(op, {name});
}

template <typename OpT, typename... Args>
OpT Pieces::create(PlaceAttr place, Args &&...args) {
  auto op = OpT::create(builder, loc, std::forward<Args>(args)...);
  describe(op, place, purpose, name);
  return op;
}

void Pieces::add(Value original, const Box &region, Value tile,
                 const std::optional<Box> &kept) {
  Piece piece = {region, tile};
  if (kept) {
    Operation *op = tile.getDefiningOp();
    serve(original, {layerOf(op), phaseOf(op)});
    piece = cut(piece, *kept);
  }
  sources[original].pieces.push_back(piece);
}

void Pieces::setCopies(Value original, MakeCopy make) {
  sources[original].copies = true;
  sources[original].make = std::move(make);
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

void Pieces::serve(Value value, Purpose wanted) {
  purpose = wanted;
  name = nameOf(value);
  like = value.getType();
  loc = value.getLoc();
}

bool Pieces::anyOverlap(const std::vector<Piece> &parts) {
  for (auto [i, part] : llvm::enumerate(parts))
    for (size_t j = 0; j < i; ++j)
      if (overlap(part.region, parts[j].region))
        return true;
  return false;
}

Value Pieces::get(Value original, const Box &region, PlaceAttr place,
                  Purpose wanted) {
  Value &known = made[original][{region, place.getValue().device()}];
  if (known)
    return known;
  serve(original, wanted);
  Source &source = sources[original];
  if (source.copies) {
    // Labels are too small to be cut: each part of them is a copy.
    bool mayCut = isa<FloatType>(getElementTypeOrSelf(original.getType()));
    for (const Piece &piece : source.pieces)
      if (onSameDevice(placeOf(piece.value), place) &&
          (piece.region == region ||
           (mayCut && contains(piece.region, region))))
        return known = cut(piece, region).value;
    if (Value copy = source.make ? source.make(region, place) : Value()) {
      source.pieces.push_back({region, copy});
      return known = copy;
    }
    return known = combine(partsOfCopies(source, region, place), region, place);
  }
  return known = combine(partsOf(source, region, place), region, place);
}

SmallVector<Value> Pieces::terms(Value original, const Box &region,
                                 PlaceAttr place, Purpose wanted,
                                 const Rails &rails) {
  serve(original, wanted);
  std::vector<Piece> parts =
      sumOnRails(partsOf(sources[original], region, place), region, rails);
  bool whole = !parts.empty() && llvm::all_of(parts, [&](const Piece &part) {
    return part.region == region;
  });
  SmallVector<Value> terms;
  if (!whole || sources[original].copies)
    return {get(original, region, place, wanted)};
  // Several contributions on this device are summed, as partsOf does elsewhere.
  std::vector<Piece> here;
  for (Piece &part : parts)
    if (onSameDevice(placeOf(part.value), place))
      here.push_back(part);
  Value local = here.empty() ? Value() : combine(here, region, place);
  for (Piece &part : parts)
    if (!onSameDevice(placeOf(part.value), place))
      terms.push_back(move(part.value, place));
    else if (local)
      terms.push_back(std::exchange(local, {}));
  return terms;
}

/// The parts of each node that has a rail, summed there; the others as they
/// are. Only contributions to the whole region: others are assembled by the
/// reader.
std::vector<Pieces::Piece> Pieces::sumOnRails(std::vector<Piece> parts,
                                              const Box &region,
                                              const Rails &rails) {
  auto railOf = [&](const Piece &part) {
    auto rail = part.region == region
                    ? rails.find(placeOf(part.value).getValue().node)
                    : rails.end();
    return rail == rails.end() ? PlaceAttr() : rail->second;
  };
  llvm::MapVector<PlaceAttr, std::vector<Piece>> onRails;
  std::vector<Piece> result;
  for (const Piece &part : parts)
    if (PlaceAttr rail = railOf(part))
      onRails[rail].push_back(part);
    else
      result.push_back(part);
  for (auto &[rail, ofNode] : onRails)
    result.push_back({region, ofNode.size() == 1
                                  ? ofNode[0].value
                                  : combine(ofNode, region, rail)});
  return result;
}

/// The pieces that overlap the region, cut to it, device by device;
/// contributions of another device already summed there.
std::vector<Pieces::Piece> Pieces::partsOf(const Source &source,
                                           const Box &region, PlaceAttr place) {
  // Grouped by device, so that pieces of one device are joined or summed before
  // any of them is transferred.
  std::map<DeviceId, size_t> known;
  std::vector<std::vector<Piece>> devices;
  for (const Piece &piece : source.pieces)
    if (overlap(piece.region, region)) {
      PlaceAttr at = placeOf(piece.value);
      auto [device, isNew] =
          known.try_emplace(at.getValue().device(), devices.size());
      if (isNew)
        devices.emplace_back();
      devices[device->second].push_back(
          cut(piece, intersect(piece.region, region)));
    }
  std::vector<Piece> parts;
  for (std::vector<Piece> &local : devices) {
    PlaceAttr at = placeOf(local.front().value);
    // Only contributions are combined before they move: a sum is fewer bytes
    // than its terms, a join has the same.
    if (!onSameDevice(at, place) && anyOverlap(local)) {
      Box hull = local.front().region;
      for (const Piece &piece : local)
        hull = hullOf(hull, piece.region);
      local = {{hull, combine(local, hull, at)}};
    }
    llvm::append_range(parts, local);
  }
  return parts;
}

void Pieces::addCopy(Value original, const Box &region, PlaceAttr place,
                     Purpose wanted) {
  Value copy = get(original, region, place, wanted);
  std::vector<Piece> &known = sources[original].pieces;
  if (llvm::none_of(known,
                    [&](const Piece &piece) { return piece.value == copy; }))
    known.push_back({region, copy});
}

Value Pieces::bring(Value tile, PlaceAttr place, Purpose wanted) {
  serve(tile, wanted);
  return move(tile, place);
}

/// Disjoint parts of copies that together cover the region; copies on the
/// device of `place` are taken first, then those on its node.
std::vector<Pieces::Piece> Pieces::partsOfCopies(const Source &source,
                                                 const Box &region,
                                                 PlaceAttr place) {
  std::vector<Box> missing = {region};
  std::vector<Piece> parts;
  auto distance = [&](const Piece &piece) {
    Place at = placeOf(piece.value).getValue();
    return at.device() == place.getValue().device() ? 0
           : at.node == place.getValue().node       ? 1
                                                    : 2;
  };
  for (int near : {0, 1, 2})
    for (const Piece &piece : source.pieces) {
      if (distance(piece) != near)
        continue;
      for (const Box &hole : missing)
        if (Box part = intersect(hole, piece.region); !empty(part))
          parts.push_back(cut(piece, part));
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
  return cut({region, tile}, part).value;
}

Pieces::Piece Pieces::cut(const Piece &piece, const Box &region) {
  if (piece.region == region)
    return piece;
  PlaceAttr at = placeOf(piece.value);
  SmallVector<int64_t> steps(region.size(), 1);
  auto slice =
      create<SliceOp>(at, typeAt(piece.value.getType(), region, at),
                      piece.value, offsetIn(piece.region, region), steps);
  return {region, slice.getY()};
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

Value Pieces::move(Value value, PlaceAttr place) {
  if (onSameDevice(placeOf(value), place))
    return value;
  Value &there = moved[{value.getAsOpaquePointer(), place.getValue().device()}];
  if (!there) {
    auto type = cast<RankedTensorType>(value.getType());
    // The transfer runs on a copy lane, so that the compute lane goes on
    // meanwhile.
    auto lane = PlaceAttr::get(
        builder.getContext(),
        place.getValue().on(copyLaneFor(
            purpose.phase, type.getNumElements() * elementBytes(type))));
    there = create<TransferOp>(
        lane,
        RankedTensorType::get(type.getShape(), type.getElementType(), lane),
        value);
  }
  return there;
}

Value Pieces::zeros(const Box &region, PlaceAttr place) {
  return create<FillOp>(place, typeAt(like, region, place), APFloat(0.0f));
}

Value Pieces::combine(std::vector<Piece> parts, const Box &region,
                      PlaceAttr place) {
  for (Piece &part : parts)
    part.value = move(part.value, place);
  return anyOverlap(parts) ? sum(parts, region, place)
                           : join(std::move(parts), region, place);
}

/// Assembles disjoint parts by `concat`, and fills elements that no part covers
/// with zeros. With no part at all it is a `fill`: the gradient of elements
/// that no window and no slice reads.
Value Pieces::join(std::vector<Piece> parts, const Box &region,
                   PlaceAttr place) {
  if (parts.size() == 1 && parts[0].region == region)
    return parts[0].value;
  std::vector<Box> missing = {region};
  for (const Piece &part : parts)
    missing = subtract(missing, part.region);
  for (const Box &hole : missing)
    parts.push_back({hole, zeros(hole, place)});
  if (parts.size() == 1)
    return parts[0].value;

  // Guillotine cuts: positions along one axis that pass through no part; the
  // first axis that has any is taken.
  for (size_t d = 0; d < region.size(); ++d) {
    std::vector<int64_t> cuts;
    for (const Piece &part : parts)
      cuts.push_back(part.region[d].begin);
    llvm::sort(cuts);
    cuts.erase(llvm::unique(cuts), cuts.end());
    llvm::erase_if(cuts, [&](int64_t at) {
      return llvm::any_of(parts, [&](const Piece &part) {
        return part.region[d].begin < at && at < part.region[d].end;
      });
    });
    if (cuts.size() < 2)
      continue;
    SmallVector<Value> slabs;
    for (auto [i, begin] : llvm::enumerate(cuts)) {
      Box slab = region;
      slab[d] = {begin, i + 1 < cuts.size() ? cuts[i + 1] : region[d].end};
      std::vector<Piece> inside;
      for (const Piece &part : parts)
        if (slab[d].contains(part.region[d]))
          inside.push_back(part);
      slabs.push_back(join(std::move(inside), slab, place));
    }
    return create<ConcatOp>(place, typeAt(like, region, place), slabs,
                            static_cast<int64_t>(d));
  }
  // The parts interlock (a pinwheel), so that no such cut exists: each is
  // padded with zeros, and the results are added.
  return sum(parts, region, place);
}

/// Pads each part to the region with zeros and adds the results in the order of
/// the parts, at most `maxTerms` in one op.
Value Pieces::sum(const std::vector<Piece> &parts, const Box &region,
                  PlaceAttr place) {
  SmallVector<Value> terms;
  for (const Piece &part : parts) {
    Value term = part.value;
    if (part.region != region)
      term = create<PadOp>(place, typeAt(term.getType(), region, place), term,
                           offsetIn(region, part.region), APFloat(0.0f));
    terms.push_back(term);
  }
  while (terms.size() > 1) {
    size_t count = std::min(terms.size(), maxTerms);
    Value total =
        create<SumOp>(place, typeAt(terms[0].getType(), region, place),
                      ValueRange(terms).take_front(count));
    terms.erase(terms.begin(), terms.begin() + count);
    terms.insert(terms.begin(), total);
  }
  return terms[0];
}

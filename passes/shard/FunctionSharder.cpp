//===- FunctionSharder.cpp - The tiles of a function ----------------------===//
//
// Walks the ops of one function in order. A `read` becomes a read per device
// that holds a part, created when a tile first asks for it. Every other op
// becomes its tiles. Updates and writes are made last (Updates.cpp), when it is
// known which devices hold which part.
//
// Does not decide the cuts of an op (TileRules.h), nor where tiles run (the
// plan).
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

SmallVector<NamedAttribute> shard::partAttributes(Builder &builder,
                                                  StringRef tensor,
                                                  const Shape &shape,
                                                  const Box &region) {
  SmallVector<int64_t> begin;
  for (Interval axis : region)
    begin.push_back(axis.begin);
  return {builder.getNamedAttr(tensorAttr, builder.getStringAttr(tensor)),
          builder.getNamedAttr(dimsAttr, builder.getDenseI64ArrayAttr(shape)),
          builder.getNamedAttr(beginAttr, builder.getDenseI64ArrayAttr(begin))};
}

//===----------------------------------------------------------------------===//
// Parameters and arguments
//===----------------------------------------------------------------------===//

void FunctionSharder::addArgument(unsigned number, const Part &part) {
  BlockArgument original = old.getArgument(number);
  BlockArgument added = body->addArgument(
      typeAt(original.getType(), part.region, part.place), original.getLoc());
  pieces.add(original, part.region, added);
}

void FunctionSharder::addArguments() {
  for (size_t i = body->getNumArguments(); i < shared.arguments.size(); ++i)
    addArgument(shared.arguments[i].first, shared.arguments[i].second);
}

Value FunctionSharder::readPart(ReadOp read, const Part &part) {
  auto copy =
      ReadOp::create(builder, read.getLoc(),
                     typeAt(read.getValue().getType(), part.region, part.place),
                     part.parameter);
  NamedAttrList attributes(read->getDiscardableAttrDictionary());
  attributes.set(tilingAttr, oneTileAt(part.place));
  copy->setDiscardableAttrs(attributes.getDictionary(read->getContext()));
  return copy.getValue();
}

void FunctionSharder::readParameter(ReadOp read) {
  StringRef name = read.getParameter();
  reads[name] = read;
  std::vector<Part> &parts = shared.parameters[name];
  bool open = mayAddCopies || parts.empty();
  auto whole = shared.symbols.lookup<ParameterOp>(name);
  pieces.setCopies(
      read.getValue(),
      [=, this](const Box &region, PlaceAttr place) mutable -> Value {
        std::vector<Part> &parts = shared.parameters[read.getParameter()];
        if (!open)
          return {};
        parts.push_back({region, place, shared.makePart(whole, region, place)});
        return readPart(read, parts.back());
      });
  for (const Part &part : parts)
    pieces.add(read.getValue(), part.region, readPart(read, part));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Which part of the op's results a tile makes (`train.tile`); null if it makes
/// all of them.
static TileAttr positionOf(MLIRContext *context, const Cuts &cuts,
                           const Grid &index) {
  return cuts.none() ? TileAttr() : TileAttr::get(context, index, cuts.degrees);
}

void FunctionSharder::tileOp(Operation *op) {
  Tiles tiles = makeTiles(op);
  if (auto stats = dyn_cast<BatchNormStatsOp>(op))
    return combineStatistics(stats, tiles);
  if (auto sums = dyn_cast<BatchNormGradStatsOp>(op))
    return combineSums(sums, tiles);
  if (auto largest = dyn_cast<ReduceMaxOp>(op))
    return combineMaxima(largest, tiles);
  if (phaseOf(op) == Phase::weight)
    return accumulate(op, tiles);
  for (auto &[made, tile] : tiles)
    addPieces(op, made, tile);
}

/// Registers the results of a tile as pieces of the op's results.
void FunctionSharder::addPieces(Operation *op, Operation *made,
                                const Tile &tile) {
  auto result = made->result_begin();
  for (auto [whole, box] : llvm::zip_equal(op->getResults(), tile.results))
    if (box)
      pieces.add(whole, *box, *result++, tile.kept);
}

/// Makes the tiles of an op at their places. Their operands are requested from
/// `pieces`.
FunctionSharder::Tiles FunctionSharder::makeTiles(Operation *op) {
  Tiles tiles;
  auto tiling = op->getAttrOfType<TilingAttr>(tilingAttr);
  Cuts layer = cutsOf(tiling), cuts = cutsOf(op, layer);
  auto tilesOf = [](const Cuts &of) {
    return std::accumulate(of.degrees.begin(), of.degrees.end(), int64_t(1),
                           std::multiplies<>());
  };
  // An op that is not cut wherever its layer is stands for several tiles.
  const bool isATileEach =
      tilesOf(layer) > 1 && tilesOf(cuts) == tilesOf(layer);
  forEachTile(cuts, layer, [&](const Grid &index, int64_t number) {
    Tile tile = tileOf(op, cuts, index);
    Operation *made =
        makeTile(op, tile, tiling.getPlaces()[number],
                 positionOf(op->getContext(), cuts, index),
                 isATileEach ? std::optional(number) : std::nullopt);
    tiles.push_back({made, std::move(tile)});
  });
  return tiles;
}

Operation *FunctionSharder::makeTile(Operation *op, const Tile &tile,
                                     PlaceAttr place, TileAttr position,
                                     std::optional<int64_t> number) {
  OperationState state(op->getLoc(), op->getName());
  for (auto [operand, box] : llvm::zip_equal(op->getOperands(), tile.operands))
    if (box)
      state.addOperands(pieces.get(operand, *box, place, purposeOf(op)));
  SmallVector<StringRef> names;
  for (auto [whole, box] : llvm::zip_equal(op->getResults(), tile.results)) {
    if (!box)
      continue;
    state.addTypes(typeAt(whole.getType(), *box, place));
    names.push_back(nameOf(whole));
  }
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.set(tilingAttr, oneTileAt(place));
  attributes.erase(axesAttr);
  if (number)
    attributes.set(workAttr, WorkAttr::get(op->getContext(), layerOf(op),
                                           phaseOf(op), number));
  if (position) {
    attributes.set(tileAttr, position);
    if (op->hasAttr(namesAttr))
      attributes.set(namesAttr, builder.getStrArrayAttr(names));
  }
  Operation *made = builder.create(state);
  if (op->getPropertiesStorageSize() > 0)
    made->copyProperties(op->getPropertiesStorage());
  made->setDiscardableAttrs(attributes.getDictionary(op->getContext()));
  for (NamedAttribute attr : tile.attributes)
    made->setAttr(attr.getName(), attr.getValue());
  // A constant's value attribute must have the shape of its result.
  if (auto constant = dyn_cast<ConstantOp>(made))
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue())
            .reshape(cast<ShapedType>(constant.getResult().getType())));
  if (!position)
    return made;
  // Dropout draws by the element's index in the whole tensor, so that masks do
  // not depend on the tiling.
  if (auto map = dyn_cast<MapOp>(made); map && map.getScalars())
    for (NamedAttribute attr : partAttributes(
             builder, "", shapeOf(op->getResult(0)), *tile.results[0]))
      if (attr.getName() != tensorAttr)
        made->setAttr(attr.getName(), attr.getValue());
  return made;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The op as an update that is made in parts; null if it is none. Its gradient
/// is one value until it is cut.
static UpdateOpInterface partedUpdate(Operation *op) {
  auto update = dyn_cast_or_null<UpdateOpInterface>(op);
  return update && update.getGradientTerms().size() == 1 ? update : nullptr;
}

LogicalResult FunctionSharder::run() {
  takeApart(old);
  body = new Block();
  func.getBody().push_back(body);
  builder.setInsertionPointToEnd(body);
  for (BlockArgument argument : old.getArguments())
    pieces.setCopies(argument, [=, this](const Box &region, PlaceAttr place) {
      Part part{region, place, {}};
      shared.arguments.push_back({argument.getArgNumber(), part});
      return body->addArgument(typeAt(argument.getType(), region, place),
                               argument.getLoc());
    });
  addArguments();

  llvm::MapVector<Operation *, SmallVector<WriteOp>> updates;
  ClipGradientsOp clip;
  for (Operation &op : old.without_terminator()) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling || tiling.getPlaces().empty())
      return op.emitOpError("has no ") << tilingAttr;
    if (auto read = dyn_cast<ReadOp>(op))
      readParameter(read);
    else if (auto write = dyn_cast<WriteOp>(op))
      updates[write.getValue().getDefiningOp()].push_back(write);
    else if (partedUpdate(&op))
      updates.try_emplace(&op);
    else if (isa<ClipGradientsOp>(op))
      clip = cast<ClipGradientsOp>(op);
    else if (!isa<AverageOp>(op)) // comes with its write, behind the updates
      tileOp(&op);
  }
  PartsOfUpdates known;
  if (clip) {
    for (auto &[producer, writes] : updates)
      if (UpdateOpInterface step = partedUpdate(producer))
        known[step] = partsOfUpdate(step);
    clipGradients(clip, known);
  }
  for (auto &[producer, writes] : updates) {
    std::vector<UpdatedPart> parts;
    if (UpdateOpInterface step = partedUpdate(producer)) {
      if (!clip)
        known[step] = partsOfUpdate(step);
      parts = known[step];
      update(step, parts);
    } else if (auto mean = dyn_cast_or_null<AverageOp>(producer)) {
      parts = known.lookup(mean.getValue().getDefiningOp());
      average(mean, parts);
    } else {
      parts.push_back({wholeOf(shapeOf(writes.front().getValue())), {}, {}});
    }
    for (WriteOp each : writes)
      write(each, parts);
  }

  SmallVector<Value> results;
  auto first = PlaceAttr::get(func.getContext(), Place());
  for (Value value : old.getTerminator()->getOperands())
    results.push_back(pieces.get(value, wholeOf(shapeOf(value)), first,
                                 {"loss", Phase::forward}));
  func::ReturnOp::create(builder, old.getTerminator()->getLoc(), results);
  return success();
}

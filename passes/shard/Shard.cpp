//===- Shard.cpp - One op per tile, every value in its place --------------===//
//
// Takes `planned`, gives `sharded`: an op becomes one op per tile of its
// layer's tiling, which runs at the tile's place; what a tile needs is brought
// there (Pieces.h), so that a missing transfer is a type error.
//
// A parameter, an input and the scalars have a copy of what is read of them on
// every device that reads it; each copy is a parameter or an argument of its
// own. A trainable parameter is updated once per part, by an owner among the
// devices that hold it, which sums the gradients and sends the new values to
// the other copies; optimizer state lives with the owner only. Owners are
// balanced by bytes.
//
// Decides nothing about tilings, and nothing about order: updates are collected
// at the end of the step and drawn forward by train-schedule.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/shard/Pieces.h"
#include "passes/shard/TileRules.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace lwcc {
#define GEN_PASS_DEF_SHARD
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

namespace {

/// A part of a parameter or argument on one device.
struct Part {
  Box region;
  PlaceAttr place;
  FlatSymbolRefAttr parameter; ///< of a parameter: the symbol of the part
};

/// What both functions share: parameters and arguments.
class ModuleSharder {
public:
  explicit ModuleSharder(ModuleOp module) : module(module), symbols(module) {}
  LogicalResult run();

private:
  friend class FunctionSharder;

  FlatSymbolRefAttr makePart(ParameterOp whole, const Box &region,
                             PlaceAttr place);

  ModuleOp module;
  SymbolTable symbols;
  llvm::MapVector<StringRef, std::vector<Part>> parameters;
  /// By number of the unsharded argument; in the order of the new ones.
  std::vector<std::pair<unsigned, Part>> arguments;
  std::map<std::pair<int64_t, int64_t>, int64_t> ownedBytes;
};

class FunctionSharder {
public:
  FunctionSharder(ModuleSharder &shared, func::FuncOp func, bool mayAddCopies)
      : shared(shared), func(func), old(func.getBody().front()),
        mayAddCopies(mayAddCopies), builder(func.getContext()),
        pieces(builder) {}
  LogicalResult run();
  /// Gives the function the arguments that others have added since.
  void addArguments();

private:
  void addArgument(unsigned number, const Part &part);
  using Tiles = std::vector<std::pair<Operation *, Tile>>;
  void tileOp(Operation *op);
  Tiles makeTiles(Operation *op);
  Operation *makeTile(Operation *op, const Tile &tile, PlaceAttr place,
                      StringRef suffix);
  void combineStatistics(BatchNormStatsOp op, Tiles &tiles);
  void readParameter(ReadOp read);
  Value readPart(ReadOp read, const Part &part);
  void update(SgdOp op, ArrayRef<WriteOp> writes);
  Part &ownerOf(StringRef parameter, const Box &region);
  void write(WriteOp write);
  Purpose purposeOf(Operation *op) { return {layerOf(op), phaseOf(op)}; }

  ModuleSharder &shared;
  func::FuncOp func;
  Block &old;
  Block *body = nullptr;
  bool mayAddCopies;
  OpBuilder builder;
  Pieces pieces;
  llvm::DenseMap<StringRef, ReadOp> reads;
};

} // namespace

static PlaceAttr placeOf(Value value) {
  return cast<PlaceAttr>(cast<RankedTensorType>(value.getType()).getEncoding());
}

/// Says of which tensor an argument or a parameter is a part.
static SmallVector<NamedAttribute> partAttributes(Builder &builder,
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

FlatSymbolRefAttr ModuleSharder::makePart(ParameterOp whole, const Box &region,
                                          PlaceAttr place) {
  OpBuilder builder(whole);
  auto part = cast<ParameterOp>(builder.clone(*whole));
  Shape shape = cast<RankedTensorType>(whole.getType()).getShape().vec();
  part.setType(RankedTensorType::get(
      shapeOf(region),
      cast<RankedTensorType>(whole.getType()).getElementType()));
  for (NamedAttribute attr :
       partAttributes(builder, whole.getSymName(), shape, region))
    part->setAttr(attr.getName(), attr.getValue());
  part.setSymName((whole.getSymName() + ".gpu" + Twine(place.getGpu())).str());
  symbols.insert(part); // makes the name unique
  return FlatSymbolRefAttr::get(part.getSymNameAttr());
}

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

/// The names of the arguments, and the function's type.
static void finishSignature(func::FuncOp func, Block &old, Block &body,
                            ArrayRef<std::pair<unsigned, Part>> arguments) {
  Builder builder(func.getContext());
  SmallVector<DictionaryAttr> attributes;
  for (auto &[number, part] : arguments) {
    NamedAttrList list(func.getArgAttrDict(number));
    Shape shape = shapeOf(old.getArgument(number));
    if (arguments.size() > old.getNumArguments())
      for (NamedAttribute attr : partAttributes(
               builder, nameOf(old.getArgument(number)), shape, part.region))
        list.set(attr.getName(), attr.getValue());
    attributes.push_back(list.getDictionary(func.getContext()));
  }
  old.erase();
  func.setFunctionType(FunctionType::get(
      func.getContext(), body.getArgumentTypes(),
      llvm::to_vector(body.getTerminator()->getOperandTypes())));
  func.setAllArgAttrs(attributes);
}

Value FunctionSharder::readPart(ReadOp read, const Part &part) {
  auto copy =
      ReadOp::create(builder, read.getLoc(),
                     typeAt(read.getValue().getType(), part.region, part.place),
                     part.parameter);
  copy->setDiscardableAttrs(read->getDiscardableAttrDictionary());
  setPlace(copy, part.place);
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

/// The tile's part of the name of what it makes: ".n1c0".
static std::string suffixOf(const Grid &degrees, const Grid &index) {
  std::string suffix;
  for (auto [d, letter] : llvm::enumerate(StringRef("nchw")))
    if (degrees[d] > 1)
      suffix += letter + std::to_string(index[d]);
  return suffix.empty() ? "" : "." + suffix;
}

void FunctionSharder::tileOp(Operation *op) {
  Tiles tiles = makeTiles(op);
  if (auto stats = dyn_cast<BatchNormStatsOp>(op))
    return combineStatistics(stats, tiles);
  for (auto &[made, tile] : tiles)
    for (auto [result, whole, box] :
         llvm::zip_equal(made->getResults(), op->getResults(), tile.results))
      pieces.add(whole, box, result);
}

/// The op's tiles, each at its place, with what it needs brought there.
FunctionSharder::Tiles FunctionSharder::makeTiles(Operation *op) {
  Tiles tiles;
  auto tiling = op->getAttrOfType<TilingAttr>(tilingAttr);
  Grid layer = {tiling.getN(), tiling.getC(), tiling.getH(), tiling.getW()};
  Grid degrees = degreesOf(op, layer);
  Grid index;
  for (index[0] = 0; index[0] < degrees[0]; ++index[0])
    for (index[1] = 0; index[1] < degrees[1]; ++index[1])
      for (index[2] = 0; index[2] < degrees[2]; ++index[2])
        for (index[3] = 0; index[3] < degrees[3]; ++index[3]) {
          int64_t number = 0; // row-major over the layer's tiles, k last
          for (int d = 0; d < 4; ++d)
            number = number * layer[d] + index[d];
          PlaceAttr place = tiling.getPlaces()[number * tiling.getK()];
          Tile tile = tileOf(op, degrees, index);
          Operation *made = makeTile(op, tile, place, suffixOf(degrees, index));
          tiles.push_back({made, std::move(tile)});
        }
  return tiles;
}

Operation *FunctionSharder::makeTile(Operation *op, const Tile &tile,
                                     PlaceAttr place, StringRef suffix) {
  SmallVector<Value> operands;
  for (auto [operand, box] : llvm::zip_equal(op->getOperands(), tile.operands))
    operands.push_back(pieces.get(operand, box, place, purposeOf(op)));
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  setPlace(made, place);
  made->removeAttr(axesAttr);
  for (NamedAttribute attr : tile.attributes)
    made->setAttr(attr.getName(), attr.getValue());
  SmallVector<std::string> names;
  for (auto [result, whole, box] :
       llvm::zip_equal(made->getResults(), op->getResults(), tile.results)) {
    result.setType(typeAt(whole.getType(), box, place));
    StringRef name = nameOf(whole);
    names.push_back(name.empty() ? "" : (name + suffix).str());
  }
  // A constant's value has its type.
  if (auto constant = dyn_cast<ConstantOp>(made))
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue())
            .reshape(cast<ShapedType>(constant.getResult().getType())));
  if (suffix.empty())
    return made;
  if (op->hasAttr(namesAttr))
    setNames(made, SmallVector<StringRef>(names.begin(), names.end()));
  // Masks depend on an element's place in the whole tensor.
  if (auto map = dyn_cast<MapOp>(made); map && map.getScalars())
    for (NamedAttribute attr : partAttributes(
             builder, "", shapeOf(op->getResult(0)), tile.results[0]))
      if (attr.getName() != tensorAttr)
        made->setAttr(attr.getName(), attr.getValue());
  return made;
}

/// Mean and variance of all samples and pixels from those of the tiles, by
/// their counts: the variance is the mean of each tile's own and of the squared
/// distance of its mean from that of all.
void FunctionSharder::combineStatistics(BatchNormStatsOp op, Tiles &tiles) {
  std::map<Interval, SmallVector<BatchNormStatsOp>> channels;
  for (auto &[made, tile] : tiles)
    channels[tile.results[0][0]].push_back(cast<BatchNormStatsOp>(made));
  for (auto &[range, parts] : channels) {
    PlaceAttr place = placeOf(parts.front().getMean());
    Value mean = parts.front().getMean(),
          variance = parts.front().getVariance(),
          invstd = parts.front().getInvstd();
    if (parts.size() > 1) {
      auto elements = [](Value x) {
        return static_cast<double>(
            cast<RankedTensorType>(x.getType()).getNumElements());
      };
      double all = 0;
      for (BatchNormStatsOp part : parts)
        all += elements(part.getX());
      // Inputs of the maps: the means, then the variances, then the mean.
      SmallVector<Value> inputs;
      for (BatchNormStatsOp part : parts)
        inputs.push_back(pieces.bring(part.getMean(), place, purposeOf(op)));
      std::string meanText, varianceText;
      for (auto [i, part] : llvm::enumerate(parts)) {
        std::string share =
            floatLiteral(static_cast<float>(elements(part.getX()) / all));
        std::string m = "x" + std::to_string(i),
                    v = "x" + std::to_string(parts.size() + i),
                    d = "(" + m + " - x" + std::to_string(2 * parts.size()) +
                        ")";
        StringRef plus = i ? " + " : "";
        meanText += (plus + share + " * " + m).str();
        varianceText +=
            (plus + share + " * (" + v + " + " + d + " * " + d + ")").str();
      }
      auto map = [&](const std::string &text, ArrayRef<Value> of,
                     unsigned result) {
        Value whole = op->getResult(result);
        MapOp made = buildMap(builder, op.getLoc(),
                              typeAt(whole.getType(), {range}, place),
                              llvm::cantFail(Expression::parse(text)), of);
        setPlace(made, place);
        setLayer(made, layerOf(op), phaseOf(op));
        setNames(made, {nameOf(whole)});
        return made.getY();
      };
      mean = map(meanText, inputs, 0);
      for (BatchNormStatsOp part : parts)
        inputs.push_back(
            pieces.bring(part.getVariance(), place, purposeOf(op)));
      inputs.push_back(mean);
      variance = map(varianceText, inputs, 1);
      invstd = map("1.0f / sqrt(x0 + " +
                       floatLiteral(op.getEpsilon().convertToFloat()) + ")",
                   {variance}, 2);
    }
    pieces.add(op.getMean(), {range}, mean);
    pieces.add(op.getVariance(), {range}, variance);
    pieces.add(op.getInvstd(), {range}, invstd);
  }
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The parts of a parameter that are updated as one: of its copies, those that
/// overlap, with all elements between them.
static std::vector<Box> regionsOf(ArrayRef<Part> parts) {
  std::vector<Box> regions;
  for (const Part &part : parts) {
    Box hull = part.region;
    for (size_t i = 0; i < regions.size();)
      if (!empty(intersect(regions[i], hull))) {
        for (size_t d = 0; d < hull.size(); ++d)
          hull[d] = {std::min(hull[d].begin, regions[i][d].begin),
                     std::max(hull[d].end, regions[i][d].end)};
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
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      bool state =
          operand == op.getW() || operand == op.getG() || operand == op.getM();
      operands.push_back(pieces.get(operand,
                                    state ? region : wholeOf(shapeOf(operand)),
                                    place, purposeOf(op)));
    }
    Operation *made = builder.clone(*op);
    made->setOperands(operands);
    setPlace(made, place);
    for (auto [result, whole] :
         llvm::zip_equal(made->getResults(), op->getResults())) {
      result.setType(typeAt(whole.getType(), region, place));
      pieces.add(whole, region, result);
    }
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult FunctionSharder::run() {
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
  for (Operation &op : old.without_terminator()) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling || tiling.getPlaces().empty())
      return op.emitOpError("has no ") << tilingAttr;
    if (tiling.getK() > 1)
      return op.emitOpError("is cut along its reduction (k), which this "
                            "version cannot do yet");
    if (auto read = dyn_cast<ReadOp>(op))
      readParameter(read);
    else if (auto write = dyn_cast<WriteOp>(op))
      updates[write.getValue().getDefiningOp()].push_back(write);
    else if (isa<SgdOp>(op))
      updates.try_emplace(&op);
    else
      tileOp(&op);
  }
  for (auto &[producer, writes] : updates)
    if (auto sgd = dyn_cast_or_null<SgdOp>(producer))
      update(sgd, writes);
    else
      for (WriteOp each : writes)
        write(each);

  SmallVector<Value> results;
  auto first = PlaceAttr::get(func.getContext(), 0, 0, 0);
  for (Value value : old.getTerminator()->getOperands())
    results.push_back(
        pieces.get(value, wholeOf(shapeOf(value)), first, {"loss", "forward"}));
  func::ReturnOp::create(builder, old.getTerminator()->getLoc(), results);
  return success();
}

LogicalResult ModuleSharder::run() {
  SmallVector<ParameterOp> wholes(module.getOps<ParameterOp>());
  SmallVector<std::unique_ptr<FunctionSharder>> sharders;
  SmallVector<func::FuncOp> funcs;
  for (StringRef name : {trainStepFunc, evaluateFunc})
    if (auto func = module.lookupSymbol<func::FuncOp>(name)) {
      // The first, the training step, says which copies there are.
      sharders.push_back(std::make_unique<FunctionSharder>(
          *this, func, /*mayAddCopies=*/funcs.empty()));
      funcs.push_back(func);
      if (failed(sharders.back()->run()))
        return failure();
    }
  for (auto &sharder : sharders)
    sharder->addArguments();
  for (func::FuncOp func : funcs) {
    Block &old = func.getBody().front(), &body = func.getBody().back();
    old.dropAllReferences();
    finishSignature(func, old, body, arguments);
  }
  // A parameter that is one whole copy keeps its name and says no more.
  for (ParameterOp whole : wholes) {
    std::vector<Part> &parts = parameters[whole.getSymName()];
    bool one = parts.size() == 1 &&
               parts[0].region ==
                   wholeOf(cast<RankedTensorType>(whole.getType()).getShape());
    std::string name = whole.getSymName().str();
    if (parts.empty())
      continue; // nobody reads it: it is only saved
    symbols.erase(whole);
    if (!one)
      continue;
    auto part = symbols.lookup<ParameterOp>(parts[0].parameter.getValue());
    for (StringRef attr : {tensorAttr, dimsAttr, beginAttr})
      part->removeAttr(attr);
    if (failed(symbols.rename(part, name)))
      return failure();
  }
  return success();
}

namespace {
struct Shard : lwcc::impl::ShardBase<Shard> {
  void runOnOperation() override {
    if (failed(ModuleSharder(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace

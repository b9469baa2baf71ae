//===- Declarations.cpp - What a program declares -------------------------===//

#include "passes/schedule/Declarations.h"
#include "passes/schedule/Storage.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace lwcc;
using exec::BufferOp;

RankedTensorType lwcc::plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

static Place valueOf(train::PlaceAttr place) {
  return place ? place.getValue() : Place();
}

Place lwcc::placeOf(Operation *op) {
  auto tiling = op->getAttrOfType<train::TilingAttr>(train::tilingAttr);
  return valueOf(tiling && !tiling.getPlaces().empty() ? tiling.getPlaces()[0]
                                                       : train::PlaceAttr());
}

Place lwcc::placeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return valueOf(dyn_cast_or_null<train::PlaceAttr>(type.getEncoding()));
}

Declarations::Declarations(ModuleOp module, ArrayRef<func::FuncOp> funcs)
    : module(module), funcs(funcs), context(module.getContext()),
      declarations(context) {
  createProgram();
  createDevicesAndLanes();
  createParameters();
  createInputsAndResults();
}

void Declarations::createProgram() {
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  auto model = module->getAttrOfType<StringAttr>("train.model");
  StringRef name = model ? llvm::sys::path::stem(model.getValue()) : "";
  program = exec::ProgramOp::create(builder, module.getLoc(),
                                    name.empty() ? "program" : name);
  for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs())) {
    StringRef field = attr.getName();
    if (attr.getName() == train::lanesAttr || !field.consume_front("train."))
      continue;
    program->setAttr(("exec." + field).str(), attr.getValue());
    module->removeAttr(attr.getName());
  }

  Block &body = program.getBody().emplaceBlock();
  declarations.setInsertionPointToEnd(&body);
  for (func::FuncOp func : funcs) {
    namer.unique(func.getSymName());
    exec::SequenceOp::create(declarations, func.getLoc(), func.getSymName())
        .getBody()
        .emplaceBlock();
  }
  declarations.setInsertionPointToStart(&body);
}

void Declarations::createDevicesAndLanes() {
  lanes[Place()];
  std::map<Place, int64_t> threads;
  if (auto widths = module->getAttrOfType<ArrayAttr>(train::lanesAttr))
    for (auto width : widths.getAsRange<train::LaneWidthAttr>())
      threads[valueOf(width.getLane())] = width.getThreads();
  module->removeAttr(train::lanesAttr);
  for (func::FuncOp func : funcs)
    func.walk([&](Operation *op) {
      if (auto tiling = op->getAttrOfType<train::TilingAttr>(train::tilingAttr))
        for (train::PlaceAttr place : tiling.getPlaces())
          lanes[valueOf(place)];
    });
  Location loc = module.getLoc();
  for (auto &[place, laneName] : lanes) {
    auto [device, isNew] = devices.try_emplace(place.device());
    if (isNew) {
      const std::string name = namer.unique(place.device().name());
      device->second = FlatSymbolRefAttr::get(context, name);
      exec::DeviceOp::create(declarations, loc, name, place.node, place.gpu, 0);
    }
    laneName = FlatSymbolRefAttr::get(
        context, namer.unique(device->second.getValue().str() + "." +
                              (place.lane.number == 0
                                   ? laneKindName(place.lane.kind).str()
                                   : "lane" + place.lane.text())));
  }
  for (auto &[place, laneName] : lanes) {
    auto lane = exec::LaneOp::create(
        declarations, loc, exec::LaneKindAttr::get(context, place.lane.kind),
        laneName.getValue(), deviceOf(place).getValue());
    if (auto width = threads.find(place); width != threads.end())
      lane.setThreads(width->second);
  }
}

BufferOp Declarations::createBuffer(Value value, Role role, StringRef tensor,
                                    Place place, FlatSymbolRefAttr parent,
                                    int64_t offset) {
  Operation *op = value.getDefiningOp();
  auto tile =
      op ? op->getAttrOfType<train::TileAttr>(train::tileAttr) : nullptr;
  return createBuffer(value.getLoc(), role, tensor, tile, value.getType(),
                      place, parent, offset);
}

BufferOp Declarations::createBuffer(Location loc, Role role, StringRef tensor,
                                    train::TileAttr tile, Type type,
                                    Place place, FlatSymbolRefAttr parent,
                                    int64_t offset) {
  OpBuilder::InsertionGuard guard(declarations);
  if (firstKernel)
    declarations.setInsertionPoint(firstKernel);
  std::string symbol = tensor.str();
  if (tile)
    symbol += "." + tile.text();
  if (devices.size() > 1)
    symbol = (deviceOf(place).getValue() + "." + symbol).str();
  symbol = namer.unique(symbol);
  return BufferOp::create(
      declarations, loc, declarations.getStringAttr(symbol), deviceOf(place),
      train::RoleAttr::get(context, role), plainTypeOf(type),
      declarations.getI64IntegerAttr(offset), parent, DenseI64ArrayAttr(),
      symbol == tensor ? StringAttr() : declarations.getStringAttr(tensor),
      tile);
}

BufferOp Declarations::createKnown(Location loc, Role role, StringRef name,
                                   Type type, Place place,
                                   DictionaryAttr attributes) {
  auto whole =
      attributes ? attributes.getAs<StringAttr>(train::tensorAttr) : nullptr;
  BufferOp buffer = createBuffer(loc, role, whole ? whole.getValue() : name,
                                 /*tile=*/{}, type, place, /*parent=*/{},
                                 /*offset=*/-1);
  ArrayRef<int64_t> dims = buffer.getTensorType().getShape();
  auto attributeOr = [&](StringRef key, Attribute whole) {
    Attribute part = attributes ? attributes.get(key) : Attribute();
    return part ? part : whole;
  };
  buffer->setAttr(
      "exec.dims",
      attributeOr(train::dimsAttr, declarations.getDenseI64ArrayAttr(dims)));
  buffer->setAttr(
      "exec.begin",
      attributeOr(train::beginAttr, declarations.getDenseI64ArrayAttr(
                                        SmallVector<int64_t>(dims.size(), 0))));
  return buffer;
}

void Declarations::createParameters() {
  llvm::DenseMap<Attribute, Place> places;
  for (func::FuncOp func : funcs)
    func.walk([&](train::ReadOp read) {
      places.try_emplace(read.getParameterAttr(), placeOf(read.getValue()));
    });
  for (auto parameter : module.getOps<train::ParameterOp>()) {
    auto key = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
    auto place = places.find(key);
    BufferOp buffer = createKnown(
        parameter.getLoc(), parameter.getRole(), parameter.getSymName(),
        parameter.getType(), place == places.end() ? Place() : place->second,
        parameter->getDiscardableAttrDictionary());
    buffer->setAttr("exec.init", parameter.getInitAttr());
    if (train::InitAttr fresh = parameter.getFreshAttr())
      buffer->setAttr("exec.fresh", fresh);
    known[StorageMap::parameterKey(key)] = buffer;
  }
}

/// Declares inputs and results once: the functions have the same, but for the
/// scores, which the last one may give besides.
void Declarations::createInputsAndResults() {
  func::FuncOp func = funcs.front();
  Block &body = func.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    RankedTensorType type = plainType(argument.getType());
    known[StorageMap::argumentKey(context, argument.getArgNumber())] =
        createKnown(argument.getLoc(), train::roleOf(argument),
                    tensorName(argument), type, placeOf(argument),
                    func.getArgAttrDict(argument.getArgNumber()));
  }
  for (func::FuncOp each : funcs)
    for (OpOperand &result :
         each.getBody().front().getTerminator()->getOpOperands()) {
      BufferOp &buffer =
          known[StorageMap::resultKey(context, result.getOperandNumber())];
      if (buffer)
        continue;
      std::string name = tensorName(result.get());
      if (each != func)
        name += evaluateSuffix;
      buffer = createKnown(result.get().getLoc(), train::roleOfResult(result),
                           name, plainType(result.get().getType()),
                           placeOf(result.get()), {});
    }
}

/// The types of a map's elements; null if all are f32.
static TypeAttr elementsOf(train::MapOp map) {
  SmallVector<Type> inputs = llvm::map_to_vector(
      map.getInputs(), [](Value input) { return getElementTypeOrSelf(input); });
  Type result = getElementTypeOrSelf(map.getY());
  if (result.isF32() &&
      llvm::all_of(inputs, [](Type type) { return type.isF32(); }))
    return {};
  return TypeAttr::get(FunctionType::get(map.getContext(), inputs, result));
}

FlatSymbolRefAttr Declarations::kernelFor(train::MapOp map) {
  TypeAttr elements = elementsOf(map);
  FlatSymbolRefAttr &kernel =
      kernels[{map.getExpr(), map.getInputs().size(), elements}];
  if (kernel)
    return kernel;
  std::string name =
      map.getFn()
          ? map.getFn()->str()
          : kernelName(llvm::cantFail(Expression::parse(map.getExpr())));
  auto op =
      exec::KernelOp::create(declarations, map.getLoc(), namer.unique(name),
                             map.getInputs().size(), map.getExpr(), elements);
  if (!firstKernel)
    firstKernel = op;
  return kernel = FlatSymbolRefAttr::get(op.getSymNameAttr());
}

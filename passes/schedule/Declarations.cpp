//===- Declarations.cpp - What a program declares -------------------------===//

#include "passes/schedule/Declarations.h"
#include "passes/schedule/Storage.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace lwcc;
using exec::BufferOp;
using exec::Role;

RankedTensorType lwcc::plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

static PlaceKey keyOf(train::PlaceAttr place) {
  return place ? PlaceKey(place.getNode(), place.getGpu(), place.getLane())
               : PlaceKey(0, 0, 0);
}

PlaceKey lwcc::placeOf(Operation *op) {
  auto tiling = op->getAttrOfType<train::TilingAttr>(train::tilingAttr);
  return keyOf(tiling && !tiling.getPlaces().empty() ? tiling.getPlaces()[0]
                                                     : train::PlaceAttr());
}

PlaceKey lwcc::placeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return keyOf(dyn_cast_or_null<train::PlaceAttr>(type.getEncoding()));
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
    if (!field.consume_front("train."))
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
  lanes[PlaceKey(0, 0, 0)];
  for (func::FuncOp func : funcs)
    func.walk([&](Operation *op) {
      if (auto tiling = op->getAttrOfType<train::TilingAttr>(train::tilingAttr))
        for (train::PlaceAttr place : tiling.getPlaces())
          lanes[keyOf(place)];
    });
  Location loc = module.getLoc();
  for (auto &[place, laneName] : lanes) {
    auto [node, gpu, lane] = place;
    auto [device, isNew] = devices.try_emplace({node, gpu});
    if (isNew) {
      std::string name = "gpu" + std::to_string(gpu);
      if (node > 0)
        name = "node" + std::to_string(node) + "." + name;
      device->second = namer.unique(name);
      exec::DeviceOp::create(declarations, loc, device->second, node, gpu, 0);
    }
    laneName =
        namer.unique(device->second + (lane == 0 ? ".compute"
                                       : lane == train::transferLane
                                           ? ".transfer"
                                           : ".lane" + std::to_string(lane)));
  }
  for (auto &[place, laneName] : lanes)
    exec::LaneOp::create(declarations, loc, laneName, deviceOf(place),
                         std::get<2>(place) == train::transferLane);
}

BufferOp Declarations::createBuffer(Location loc, Role role, StringRef name,
                                    Type type, PlaceKey place,
                                    FlatSymbolRefAttr parent, int64_t offset) {
  OpBuilder::InsertionGuard guard(declarations);
  if (firstKernel)
    declarations.setInsertionPoint(firstKernel);
  // Devices that do the same have the same names behind their own. Where there
  // is one, only a tensor that is called like the device's own needs it.
  std::string full = name.str(), device = deviceOf(place).str() + ".";
  if (devices.size() > 1)
    full = device + withoutNumbers(name);
  else if (name.starts_with(device))
    full = device + full;
  return BufferOp::create(declarations, loc, namer.unique(full),
                          deviceOf(place), role, plainType(type), offset,
                          parent, DenseI64ArrayAttr());
}

BufferOp Declarations::createKnown(Location loc, Role role, StringRef name,
                                   Type type, PlaceKey place,
                                   DictionaryAttr attributes) {
  BufferOp buffer = createBuffer(loc, role, name, type, place);
  ArrayRef<int64_t> dims = buffer.getTensorType().getShape();
  auto attributeOr = [&](StringRef key, Attribute whole) {
    Attribute part = attributes ? attributes.get(key) : Attribute();
    return part ? part : whole;
  };
  buffer->setAttr("exec.tensor", attributeOr(train::tensorAttr,
                                             declarations.getStringAttr(name)));
  buffer->setAttr(
      "exec.dims",
      attributeOr(train::dimsAttr, declarations.getDenseI64ArrayAttr(dims)));
  buffer->setAttr(
      "exec.begin",
      attributeOr(train::beginAttr, declarations.getDenseI64ArrayAttr(
                                        SmallVector<int64_t>(dims.size(), 0))));
  return buffer;
}

static Role roleOf(train::ParameterKind kind) {
  switch (kind) {
  case train::ParameterKind::Trainable:
  case train::ParameterKind::Frozen: // saved and exported like the others
    return Role::Parameter;
  case train::ParameterKind::Statistic:
    return Role::Statistic;
  case train::ParameterKind::Optimizer:
    return Role::Optimizer;
  case train::ParameterKind::Constant:
    return Role::Constant;
  }
  llvm_unreachable("all kinds covered");
}

void Declarations::createParameters() {
  llvm::DenseMap<Attribute, PlaceKey> places;
  for (func::FuncOp func : funcs)
    func.walk([&](train::ReadOp read) {
      places.try_emplace(read.getParameterAttr(), placeOf(read.getValue()));
    });
  for (auto parameter : module.getOps<train::ParameterOp>()) {
    auto key = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
    auto place = places.find(key);
    BufferOp buffer = createKnown(
        parameter.getLoc(), roleOf(parameter.getKind()), parameter.getSymName(),
        parameter.getType(), place == places.end() ? PlaceKey() : place->second,
        parameter->getDiscardableAttrDictionary());
    buffer->setAttr("exec.kind", parameter.getKindAttr());
    buffer->setAttr("exec.init", parameter.getInitAttr());
    if (train::InitAttr fresh = parameter.getFreshAttr())
      buffer->setAttr("exec.fresh", fresh);
    known[StorageMap::parameterKey(key)] = buffer;
  }
}

/// Both functions have the same signature and share these buffers.
void Declarations::createInputsAndResults() {
  func::FuncOp func = funcs.front();
  Block &body = func.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    RankedTensorType type = plainType(argument.getType());
    Role role = type == train::scalarsType(context)   ? Role::Scalars
                : type.getElementType().isInteger(32) ? Role::Labels
                                                      : Role::Input;
    known[StorageMap::argumentKey(context, argument.getArgNumber())] =
        createKnown(argument.getLoc(), role, tensorName(argument), type,
                    placeOf(argument),
                    func.getArgAttrDict(argument.getArgNumber()));
  }
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    RankedTensorType type = plainType(result.get().getType());
    bool isLoss = type.getRank() == 0;
    known[StorageMap::resultKey(context, result.getOperandNumber())] =
        createKnown(result.get().getLoc(), isLoss ? Role::Loss : Role::Metric,
                    tensorName(result.get()), type, placeOf(result.get()), {});
  }
}

FlatSymbolRefAttr Declarations::kernelFor(train::MapOp map) {
  FlatSymbolRefAttr &kernel = kernels[{map.getExpr(), map.getInputs().size()}];
  if (kernel)
    return kernel;
  std::string name =
      map.getFn()
          ? map.getFn()->str()
          : kernelName(llvm::cantFail(Expression::parse(map.getExpr())));
  auto op =
      exec::KernelOp::create(declarations, map.getLoc(), namer.unique(name),
                             map.getInputs().size(), map.getExpr());
  if (!firstKernel)
    firstKernel = op;
  return kernel = FlatSymbolRefAttr::get(op.getSymNameAttr());
}

//===- ToExec.cpp - Values become buffers ---------------------------------===//
//
// Takes `scheduled`, gives `exec`: one exec.program in place of the functions
// and parameters. An op that is one runtime call becomes a call of the same
// name, its operands buffers, its attributes the call's parameters; there is no
// code per operator. Which values share memory was decided by StorageMap, when
// lanes wait for each other is decided by synchronize(); offsets come later.
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/exec/Kernels.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/schedule/MergeTransfers.h"
#include "passes/schedule/Names.h"
#include "passes/schedule/Storage.h"
#include "passes/schedule/Synchronize.h"
#include "passes/schedule/Views.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Path.h"

#include <map>
#include <tuple>

namespace lwcc {
#define GEN_PASS_DEF_TOEXEC
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using exec::BufferOp;
using exec::Role;

/// A type in memory: the place that it carries in `sharded` has become the
/// buffer's device.
static RankedTensorType plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

namespace {

using PlaceKey = std::tuple<int64_t, int64_t, int64_t>; // node, gpu, lane

PlaceKey keyOf(train::PlaceAttr place) {
  return place ? PlaceKey(place.getNode(), place.getGpu(), place.getLane())
               : PlaceKey(0, 0, 0);
}

/// Where an op runs.
PlaceKey placeOf(Operation *op) {
  auto tiling = op->getAttrOfType<train::TilingAttr>(train::tilingAttr);
  return keyOf(tiling && !tiling.getPlaces().empty() ? tiling.getPlaces()[0]
                                                     : train::PlaceAttr());
}

/// Where a value lies.
PlaceKey placeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return keyOf(dyn_cast_or_null<train::PlaceAttr>(type.getEncoding()));
}

/// The program as it is made. Buffers stand before kernels, kernels before
/// sequences.
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, ArrayRef<func::FuncOp> funcs)
      : module(module), funcs(funcs), context(module.getContext()),
        declarations(context) {}

  LogicalResult run();

private:
  friend class FunctionBuilder;

  void createProgram();
  void createDevicesAndLanes();
  void createParameters();
  void createInputsAndResults();
  FlatSymbolRefAttr kernelFor(train::MapOp map);

  BufferOp createBuffer(Location loc, Role role, StringRef name, Type type,
                        PlaceKey place, FlatSymbolRefAttr parent = {},
                        int64_t offset = -1);
  /// A buffer that the trainer knows: a global tensor, or the part of one that
  /// `attributes` describes (Train.h).
  BufferOp createKnown(Location loc, Role role, StringRef name, Type type,
                       PlaceKey place, DictionaryAttr attributes);
  FlatSymbolRefAttr laneOf(PlaceKey place) {
    return FlatSymbolRefAttr::get(context, lanes.at(place));
  }
  StringRef deviceOf(PlaceKey place) {
    return devices.at({std::get<0>(place), std::get<1>(place)});
  }

  ModuleOp module;
  ArrayRef<func::FuncOp> funcs;
  MLIRContext *context;
  OpBuilder declarations; ///< before the sequences
  exec::ProgramOp program;
  Operation *firstKernel = nullptr;
  Namer namer;
  std::map<std::pair<int64_t, int64_t>, std::string> devices;
  std::map<PlaceKey, std::string> lanes;
  /// Memory that is given (StorageMap's keys).
  llvm::DenseMap<Attribute, BufferOp> given;
  llvm::MapVector<std::pair<StringRef, size_t>, FlatSymbolRefAttr> kernels;
};

/// One function's sequence.
class FunctionBuilder {
public:
  FunctionBuilder(ProgramBuilder &parent, func::FuncOp func,
                  const StorageMap &storage)
      : parent(parent), func(func), storage(storage), calls(func.getContext()) {
  }
  LogicalResult run(exec::SequenceOp sequence);

private:
  LogicalResult convert(Operation *op);
  FlatSymbolRefAttr bufferOf(Value value);
  BufferOp baseOf(const Storage *memory);
  std::string nameFor(Value value);
  void call(Operation *op, StringRef callee, ArrayRef<Attribute> ins,
            ArrayRef<Attribute> outs, FlatSymbolRefAttr kernel = {},
            DictionaryAttr params = {});
  /// Brings a value to given memory unless it was made there.
  void copy(Operation *op, Value value, BufferOp target);

  ProgramBuilder &parent;
  func::FuncOp func;
  const StorageMap &storage;
  OpBuilder calls;
  llvm::DenseMap<const Storage *, BufferOp> bases;
  llvm::DenseMap<Value, BufferOp> views;
};

} // namespace

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::run() {
  createProgram();
  createDevicesAndLanes();
  createParameters();
  createInputsAndResults();
  for (func::FuncOp func : funcs) {
    StorageMap storage(func);
    if (failed(storage.run()))
      return failure();
    auto sequence = cast<exec::SequenceOp>(
        SymbolTable::lookupSymbolIn(program, func.getSymName()));
    if (failed(FunctionBuilder(*this, func, storage).run(sequence)))
      return failure();
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<func::FuncOp, train::ParameterOp>(op))
      op.erase();
  mergeTransfers(program);
  synchronize(program);
  return success();
}

void ProgramBuilder::createProgram() {
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

void ProgramBuilder::createDevicesAndLanes() {
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

BufferOp ProgramBuilder::createBuffer(Location loc, Role role, StringRef name,
                                      Type type, PlaceKey place,
                                      FlatSymbolRefAttr parent,
                                      int64_t offset) {
  OpBuilder::InsertionGuard guard(declarations);
  if (firstKernel)
    declarations.setInsertionPoint(firstKernel);
  // Devices that do the same have the same names behind their own.
  std::string full = name.str();
  if (devices.size() > 1)
    full = (deviceOf(place) + "." + withoutNumbers(name)).str();
  return BufferOp::create(declarations, loc, namer.unique(full),
                          deviceOf(place), role, plainType(type), offset,
                          parent, DenseI64ArrayAttr());
}

BufferOp ProgramBuilder::createKnown(Location loc, Role role, StringRef name,
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

void ProgramBuilder::createParameters() {
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
    given[StorageMap::parameterKey(key)] = buffer;
  }
}

/// Both functions have the same signature and share these buffers.
void ProgramBuilder::createInputsAndResults() {
  func::FuncOp func = funcs.front();
  Block &body = func.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    RankedTensorType type = plainType(argument.getType());
    Role role = type == train::scalarsType(context)   ? Role::Scalars
                : type.getElementType().isInteger(32) ? Role::Labels
                                                      : Role::Input;
    given[StorageMap::argumentKey(context, argument.getArgNumber())] =
        createKnown(argument.getLoc(), role, tensorName(argument), type,
                    placeOf(argument),
                    func.getArgAttrDict(argument.getArgNumber()));
  }
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    RankedTensorType type = plainType(result.get().getType());
    bool isLoss = type.getRank() == 0;
    given[StorageMap::resultKey(context, result.getOperandNumber())] =
        createKnown(result.get().getLoc(), isLoss ? Role::Loss : Role::Metric,
                    tensorName(result.get()), type, placeOf(result.get()), {});
  }
}

FlatSymbolRefAttr ProgramBuilder::kernelFor(train::MapOp map) {
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

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string FunctionBuilder::nameFor(Value value) {
  std::string name = tensorName(value);
  // Of several devices' parts each is read by another: what they are called
  // must not depend on it.
  Operation *op = value.getDefiningOp();
  if (parent.devices.size() > 1 && isa_and_nonnull<train::SliceOp>(op) &&
      storage.isView(op))
    name += ".part";
  if (func.getSymName() == train::evaluateFunc)
    name += evaluateSuffix;
  return name;
}

/// What the memory of a value is for.
static Role transientRole(Value value) {
  Operation *op = value.getDefiningOp();
  return op && train::phaseOf(op) == "backward" ? Role::Gradient
                                                : Role::Activation;
}

BufferOp FunctionBuilder::baseOf(const Storage *memory) {
  if (memory->given)
    return parent.given.lookup(memory->given);
  BufferOp &base = bases[memory];
  if (!base)
    base = parent.createBuffer(memory->owner.getLoc(),
                               transientRole(memory->owner),
                               nameFor(memory->owner), memory->owner.getType(),
                               placeOf(memory->owner));
  return base;
}

FlatSymbolRefAttr FunctionBuilder::bufferOf(Value value) {
  // What is read where it is has no name here.
  auto transfer = value.getDefiningOp<train::TransferOp>();
  if (transfer && storage.isView(transfer))
    return bufferOf(transfer.getX());
  auto slice = value.getDefiningOp<train::SliceOp>();
  if (slice && storage.isView(slice) && isWindow(slice)) {
    BufferOp &window = views[value];
    if (window)
      return FlatSymbolRefAttr::get(window.getSymNameAttr());
    FlatSymbolRefAttr whole = bufferOf(slice.getX());
    window = parent.createBuffer(value.getLoc(), transientRole(value),
                                 nameFor(value), value.getType(),
                                 placeOf(storage.find(value).storage->owner),
                                 whole, windowOffset(slice));
    window.setWindow(slice.getStart());
    return FlatSymbolRefAttr::get(window.getSymNameAttr());
  }
  auto [memory, offset] = storage.find(value);
  BufferOp base = baseOf(memory);
  bool whole = offset == 0 && base.getType() == plainType(value.getType());
  if (whole && (memory->given || memory->owner == value))
    return FlatSymbolRefAttr::get(base.getSymNameAttr());
  BufferOp &view = views[value];
  if (!view)
    view = parent.createBuffer(
        value.getLoc(), transientRole(value), nameFor(value), value.getType(),
        placeOf(memory->owner), FlatSymbolRefAttr::get(base.getSymNameAttr()),
        offset);
  return FlatSymbolRefAttr::get(view.getSymNameAttr());
}

void FunctionBuilder::call(Operation *op, StringRef callee,
                           ArrayRef<Attribute> ins, ArrayRef<Attribute> outs,
                           FlatSymbolRefAttr kernel, DictionaryAttr params) {
  exec::CallOp::create(calls, op->getLoc(), calls.getStringAttr(callee),
                       parent.laneOf(placeOf(op)), calls.getArrayAttr(outs),
                       calls.getArrayAttr(ins), kernel, params,
                       calls.getStringAttr(train::layerOf(op)),
                       calls.getStringAttr(train::phaseOf(op)));
}

void FunctionBuilder::copy(Operation *op, Value value, BufferOp target) {
  call(op, "reshape", {bufferOf(value)},
       {FlatSymbolRefAttr::get(target.getSymNameAttr())});
}

/// The fields of the runtime function's parameter struct: an op's own
/// attributes, defaults filled in.
static DictionaryAttr paramsOf(Operation *op) {
  OperationName name = op->getName();
  name.populateDefaultProperties(op->getPropertiesStorage());
  NamedAttrList params;
  for (StringAttr field : name.getAttributeNames())
    if (field != "operandSegmentSizes" && field != "resultSegmentSizes")
      if (std::optional<Attribute> value = op->getInherentAttr(field))
        if (*value)
          params.append(field, *value);
  return params.empty() ? DictionaryAttr()
                        : params.getDictionary(op->getContext());
}

LogicalResult FunctionBuilder::convert(Operation *op) {
  Attribute absent = calls.getUnitAttr();
  if (isa<train::ReadOp>(op) || storage.isView(op))
    return success();
  if (auto write = dyn_cast<train::WriteOp>(op)) {
    if (storage.liesInPlace(write))
      return success();
    Value value = write.getValue();
    BufferOp target =
        parent.given.lookup(StorageMap::parameterKey(write.getParameterAttr()));
    if (write.getBegin())
      target = parent.createBuffer(
          op->getLoc(), transientRole(value), nameFor(value) + ".part",
          value.getType(), placeOf(value),
          FlatSymbolRefAttr::get(target.getSymNameAttr()),
          *storage.offsetOf(write));
    copy(op, value, target);
    return success();
  }
  if (op->use_empty()) // nobody reads any result
    return success();

  SmallVector<Attribute> ins, outs;
  for (Value operand : op->getOperands())
    ins.push_back(bufferOf(operand));
  if (auto map = dyn_cast<train::MapOp>(op)) {
    // The scalars are the last operand, where there are any.
    outs.push_back(bufferOf(map.getY()));
    NamedAttrList params;
    for (StringRef attr : {train::beginAttr, train::dimsAttr})
      if (Attribute value = op->getAttr(attr))
        params.append(attr.drop_front(StringRef("train.").size()), value);
    call(op, "map", ins, outs, parent.kernelFor(map),
         params.empty() ? DictionaryAttr()
                        : params.getDictionary(op->getContext()));
    return success();
  }
  if (auto constant = dyn_cast<train::ConstantOp>(op)) {
    auto value =
        cast<DenseElementsAttr>(constant.getValue()).getSplatValue<FloatAttr>();
    call(op, "fill", {}, {bufferOf(constant.getResult())}, {},
         calls.getDictionaryAttr({calls.getNamedAttr("value", value)}));
    return success();
  }

  StringRef callee = op->getName().stripDialect();
  const exec::KernelSignature *row = exec::findKernel(callee);
  if (!op->hasTrait<train::KernelOp>() || !row)
    return op->emitOpError("is not a runtime call");
  // A result that nobody reads is left out, except the one that the call is
  // made for.
  for (OpResult result : op->getResults()) {
    bool primary = result.getResultNumber() == 0 && row->results >= 0;
    outs.push_back(primary || !result.use_empty() ? bufferOf(result) : absent);
  }
  // Optional tensors stand last.
  ins.resize(std::max<size_t>(ins.size(), std::max(row->operands, 0)), absent);
  outs.resize(std::max<size_t>(outs.size(), std::max(row->results, 0)), absent);
  call(op, callee, ins, outs, {}, paramsOf(op));
  return success();
}

LogicalResult FunctionBuilder::run(exec::SequenceOp sequence) {
  calls.setInsertionPointToEnd(&sequence.getBody().front());
  Block &body = func.getBody().front();
  for (Operation &op : body.without_terminator())
    if (failed(convert(&op)))
      return failure();
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    Operation *producer = result.get().getDefiningOp();
    Attribute given =
        StorageMap::resultKey(func.getContext(), result.getOperandNumber());
    if (!storage.liesIn(result.get(), given))
      copy(producer ? producer : body.getTerminator(), result.get(),
           parent.given.lookup(given));
  }
  return success();
}

namespace {
struct ToExec : lwcc::impl::ToExecBase<ToExec> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> funcs;
    for (StringRef name : {train::trainStepFunc, train::evaluateFunc}) {
      auto func = module.lookupSymbol<func::FuncOp>(name);
      if (!func) {
        module.emitError("has no function @") << name;
        return signalPassFailure();
      }
      funcs.push_back(func);
    }
    auto plain = [](TypeRange types) {
      return llvm::map_to_vector(types, plainType);
    };
    if (plain(funcs[0].getArgumentTypes()) !=
            plain(funcs[1].getArgumentTypes()) ||
        plain(funcs[0].getResultTypes()) != plain(funcs[1].getResultTypes())) {
      funcs[1].emitError("has another signature than @")
          << train::trainStepFunc;
      return signalPassFailure();
    }
    if (failed(ProgramBuilder(module, funcs).run()))
      signalPassFailure();
  }
};
} // namespace

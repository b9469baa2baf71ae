//===- LoadProgram.cpp - exec as a program to run -------------------------===//
//
// Does what the program that codegen/ prints would do: fills the same tables
// and makes the same calls. Decides nothing.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc-run/LoadProgram.h"
#include "codegen/ProgramNames.h"
#include "codegen/ProgramTables.h"
#include "ir/train/Train.h"
#include "tools/lwcc-run/Interpreter.h"
#include "tools/lwcc-run/Registry.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

class Loader {
public:
  explicit Loader(ProgramOp op) : names(op) {}
  LogicalResult load(rt::Program &program);
  void run(SequenceOp sequence, rt::Machine &machine);

private:
  rt::TensorRef refOf(BufferOp buffer);
  rt::GlobalTensor &globalOf(rt::GlobalTensor &global, BufferOp buffer);
  rt::Tensor tensor(Attribute operand, rt::Machine &machine);

  ProgramNames names;
  llvm::StringMap<Expression> expressions;
};

} // namespace

static rt::DType typeOf(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isF32()         ? rt::DType::f32
         : element.isInteger(32) ? rt::DType::i32
                                 : rt::DType::u8;
}

static rt::Init initOf(train::InitAttr init) {
  rt::Init result;
  result.kind = llvm::StringSwitch<rt::Init::Kind>(init.getKind())
                    .Case("blob", rt::Init::blob)
                    .Case("normal", rt::Init::normal)
                    .Case("uniform", rt::Init::uniform)
                    .Default(rt::Init::constant);
  result.offset = init.getOffset();
  result.a = static_cast<float>(init.getA().convertToDouble());
  result.b = static_cast<float>(init.getB().convertToDouble());
  return result;
}

rt::TensorRef Loader::refOf(BufferOp buffer) {
  RankedTensorType type = buffer.getTensorType();
  return {names.deviceOf(buffer.getDevice()), names.offsetOf(buffer),
          typeOf(type), type.getShape().vec(),
          isChannelsLast(type) ? rt::Layout::nhwc : rt::Layout::dense};
}

/// Adds a buffer as a tile of `global`.
rt::GlobalTensor &Loader::globalOf(rt::GlobalTensor &global, BufferOp buffer) {
  auto list = [&](StringRef name) {
    auto attr = buffer->getAttrOfType<DenseI64ArrayAttr>(name);
    return attr ? attr.asArrayRef().vec() : std::vector<int64_t>();
  };
  rt::TensorRef ref = refOf(buffer);
  global.name = buffer.getTensorName().str();
  global.dims = globalDims(buffer).vec();
  std::vector<int64_t> begin = list("exec.begin");
  begin.resize(ref.dims.size());
  global.shards.push_back({ref, begin});
  return global;
}

rt::Tensor Loader::tensor(Attribute operand, rt::Machine &machine) {
  auto name = dyn_cast<FlatSymbolRefAttr>(operand);
  if (!name)
    return {};
  auto buffer = names.symbols.lookup<BufferOp>(name.getValue());
  if (std::optional<ArrayRef<int64_t>> window = buffer.getWindow())
    return rt::windowOf(tensor(buffer.getViewOfAttr(), machine), window->data(),
                        buffer.getTensorType().getShape().data());
  return refOf(buffer).on(machine);
}

void Loader::run(SequenceOp sequence, rt::Machine &machine) {
  auto laneOf = [&](StringRef name) -> rt::Lane & {
    return machine.lane(names.indexOf(names.symbols.lookup(name)));
  };
  std::map<std::string, std::pair<StringRef, Phase>> current;
  for (Operation &op : sequence.getBody().front()) {
    if (auto record = dyn_cast<RecordOp>(op)) {
      machine.event(names.indexOf(names.symbols.lookup(record.getEvent())))
          .record(laneOf(record.getLane()));
      continue;
    }
    if (auto wait = dyn_cast<WaitOp>(op)) {
      machine.event(names.indexOf(names.symbols.lookup(wait.getEvent())))
          .wait(laneOf(wait.getLane()));
      continue;
    }
    auto call = cast<CallOp>(op);
    rt::Lane &lane = laneOf(call.getLane());
    std::pair<StringRef, Phase> layer = {call.getLayer(), call.getPhase()};
    if (current[call.getLane().str()] != layer) {
      lane.layer(layer.first.data(), phaseName(layer.second).data());
      current[call.getLane().str()] = layer;
    }
    rt::Tensors outs, ins;
    for (Attribute operand : call.getOuts())
      outs.push_back(tensor(operand, machine));
    for (Attribute operand : call.getIns())
      ins.push_back(tensor(operand, machine));
    if (auto kernelName = call.getKernel()) {
      auto kernel = names.symbols.lookup<exec::KernelOp>(*kernelName);
      rt::Tensor scalars;
      if (ins.size() > static_cast<size_t>(kernel.getInputs())) {
        scalars = ins.back();
        ins.pop_back();
      }
      rt::MapParams params;
      if (DictionaryAttr given = call.getParamsAttr()) {
        params.begin = given.getAs<DenseI64ArrayAttr>("begin").asArrayRef();
        params.dims = given.getAs<DenseI64ArrayAttr>("dims").asArrayRef();
      }
      appendMap(lane, expressions.at(*kernelName), outs.front(), ins, scalars,
                params);
    } else {
      findInvoke(call.getCallee())(lane, outs, ins, call.getParamsAttr());
    }
  }
}

LogicalResult Loader::load(rt::Program &program) {
  ProgramOp op = names.program;
  program.model = textOf(op, "exec.model");
  program.modelHash = textOf(op, "exec.hash");
  program.compiler = textOf(op, "exec.compiler");
  program.plan = textOf(op, "exec.plan");
  program.precision = textOf(op, "exec.precision");
  program.loss = textOf(op, "exec.loss");
  program.lossName = textOf(op, "exec.loss_name");
  if (std::string optimizer = textOf(op, "exec.optimizer"); !optimizer.empty())
    program.optimizer = optimizer;
  program.batch = numberOf(op, "exec.batch");
  program.classes = numberOf(op, "exec.classes");
  program.batchStatistics = numberOf(op, "exec.batchStatistics") != 0;
  for (DeviceOp device : names.devices)
    program.machine.devices.push_back(
        {static_cast<int64_t>(device.getArena())});
  for (LaneOp lane : names.lanes) {
    rt::LaneUse use = llvm::StringSwitch<rt::LaneUse>(useName(lane))
                          .Case("compute", rt::LaneUse::compute)
                          .Case("copies", rt::LaneUse::copies)
                          .Case("urgent", rt::LaneUse::urgent);
    program.machine.lanes.push_back(
        {names.deviceOf(lane.getDevice()), lane.getSymName().data(), use,
         static_cast<int>(lane.getThreads().value_or(1))});
  }
  program.machine.events = static_cast<int>(names.events.size());
  program.machine.tf32 = program.precision == "tf32";

  for (exec::KernelOp kernel : names.kernels) {
    llvm::Expected<Expression> e = Expression::parse(kernel.getExpr());
    if (!e)
      return kernel.emitOpError("has a malformed expression: ")
             << llvm::toString(e.takeError());
    expressions.try_emplace(kernel.getSymName(), std::move(*e));
  }

  llvm::MapVector<StringRef, rt::StateTensor> state;
  llvm::MapVector<StringRef, rt::InputTensor> inputs, auxiliary;
  llvm::StringMap<int64_t> bytes;
  for (BufferOp buffer : names.buffers) {
    switch (buffer.getRole()) {
    case Role::input:
      globalOf(inputs[buffer.getTensorName().getValue()], buffer);
      break;
    case Role::labels:
      globalOf(program.labels, buffer);
      break;
    case Role::shares:
      globalOf(program.shares, buffer);
      break;
    case Role::auxiliary:
      globalOf(auxiliary[buffer.getTensorName().getValue()], buffer);
      break;
    case Role::scalars:
      program.scalars.push_back(refOf(buffer));
      break;
    case Role::loss:
      program.loss_value = refOf(buffer);
      break;
    case Role::metric:
      program.correct = refOf(buffer);
      break;
    case Role::scores:
      program.scores = refOf(buffer);
      break;
    case Role::activation:
    case Role::gradient:
      break;
    default: {
      StringAttr name = buffer.getTensorName();
      rt::StateTensor &entry = state[name.getValue()];
      globalOf(entry.tensor, buffer);
      bytes[name.getValue()] = bytesOfState(buffer);
      entry.role = buffer.getRole();
      entry.init = initOf(buffer->getAttrOfType<train::InitAttr>("exec.init"));
      auto fresh = buffer->getAttrOfType<train::InitAttr>("exec.fresh");
      entry.fresh = fresh ? initOf(fresh) : entry.init;
    }
    }
  }
  for (auto &[name, entry] : state)
    program.state.push_back(entry);
  auto addGiven = [&](const auto &given, std::vector<rt::InputTensor> &list) {
    for (auto [name, tensor] : given) {
      tensor.tokens = tokensOf(op, name);
      tensor.channelsLast = hasChannelsLast(op, name);
      list.push_back(tensor);
    }
  };
  addGiven(inputs, program.inputs);
  addGiven(auxiliary, program.auxiliary);
  if (auto pieces = op->getAttrOfType<ArrayAttr>("exec.export"))
    for (Attribute piece : pieces) {
      if (auto name = dyn_cast<StringAttr>(piece))
        program.onnxExport.push_back(
            {name.str(), 0, bytes.at(name.getValue())});
      else
        program.onnxExport.push_back({"", cast<DenseI64ArrayAttr>(piece)[0],
                                      cast<DenseI64ArrayAttr>(piece)[1]});
    }
  return success();
}

FailureOr<rt::Program> lwcc::loadProgram(ProgramOp op, ArrayRef<char> blob) {
  auto loader = std::make_shared<Loader>(op);
  rt::Program program;
  if (failed(loader->load(program)))
    return failure();
  auto functionOf = [&](StringRef name) {
    SequenceOp sequence = mlir::SymbolTable(op).lookup<SequenceOp>(name);
    return [loader, sequence](rt::Machine &machine) {
      loader->run(sequence, machine);
    };
  };
  program.trainStep = functionOf("train_step");
  program.evaluate = functionOf("evaluate");
  program.blob = blob.empty() ? "" : blob.data(); // null: not to be found
  program.blobBytes = static_cast<int64_t>(blob.size());
  return program;
}

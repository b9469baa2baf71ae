//===- ToExec.cpp - From ops on values to calls on buffers ----------------===//
//
// Takes `scheduled`, gives `exec`: one exec.program in place of the functions
// and parameters. An op that is one runtime call becomes an exec.call of the
// same name; its operands become buffers and its attributes the call's
// parameters. There is no code per operator. Each sequence gets the meaning of
// its function, which the schedule verifier checks after all later passes
// (passes/verify/Meaning.h).
//
// Does not decide which values share memory (StorageMap), what is declared
// (Declarations), when lanes wait for each other (synchronize), or offsets
// (passes/memory).
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/exec/Views.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/schedule/Declarations.h"
#include "passes/schedule/MergeTransfers.h"
#include "passes/schedule/Storage.h"
#include "passes/schedule/Synchronize.h"
#include "passes/verify/AllInParallel.h"
#include "passes/verify/Meaning.h"

#include <deque>

namespace lwcc {
#define GEN_PASS_DEF_TOEXEC
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using exec::BufferOp;

namespace {

/// Makes the calls of one function's sequence.
class FunctionBuilder {
public:
  FunctionBuilder(Declarations &parent, func::FuncOp func,
                  const StorageMap &storage)
      : parent(parent), func(func), storage(storage), calls(func.getContext()) {
  }
  LogicalResult run(exec::SequenceOp sequence);

private:
  LogicalResult convert(Operation *op);
  /// The name of the buffer that holds a value; the buffer is made first.
  FlatSymbolRefAttr bufferOf(Value value);
  FlatSymbolRefAttr makeBuffer(Value value);
  BufferOp baseOf(const Storage *memory);
  std::string nameFor(Value value);
  void call(Operation *op, StringRef callee, ArrayRef<Attribute> ins,
            ArrayRef<Attribute> outs, FlatSymbolRefAttr kernel = {},
            DictionaryAttr params = {});
  /// Adds a copy of a value to given memory.
  void copy(Operation *op, Value value, BufferOp target);

  Declarations &parent;
  func::FuncOp func;
  const StorageMap &storage;
  OpBuilder calls;
  llvm::DenseMap<const Storage *, BufferOp> bases;
  llvm::DenseMap<Value, FlatSymbolRefAttr> buffers;
};

} // namespace

std::string FunctionBuilder::nameFor(Value value) {
  std::string name = tensorName(value);
  // With several devices every view of a part gets the suffix: the name of a
  // part must not depend on which device reads it.
  Operation *op = value.getDefiningOp();
  if (parent.hasManyDevices() && isa_and_nonnull<train::SliceOp>(op) &&
      storage.isView(op))
    name += ".part";
  if (func.getSymName() == train::evaluateFunc)
    name += evaluateSuffix;
  return name;
}

/// The role of the buffer of a value that does not outlive the run.
static Role transientRole(Value value) {
  Operation *op = value.getDefiningOp();
  Phase phase = op ? train::phaseOf(op) : Phase::forward;
  return phase == Phase::backward || phase == Phase::weight ? Role::gradient
                                                            : Role::activation;
}

BufferOp FunctionBuilder::baseOf(const Storage *memory) {
  if (memory->given)
    return parent.given(memory->given);
  BufferOp &base = bases[memory];
  if (!base)
    base = parent.createBuffer(memory->owner, transientRole(memory->owner),
                               nameFor(memory->owner), placeOf(memory->owner));
  return base;
}

FlatSymbolRefAttr FunctionBuilder::bufferOf(Value value) {
  if (FlatSymbolRefAttr known = buffers.lookup(value))
    return known;
  return buffers[value] = makeBuffer(value);
}

FlatSymbolRefAttr FunctionBuilder::makeBuffer(Value value) {
  // A transfer that is a view has no buffer: its readers read the source.
  auto transfer = value.getDefiningOp<train::TransferOp>();
  if (transfer && storage.isView(transfer))
    return bufferOf(transfer.getX());
  auto slice = value.getDefiningOp<train::SliceOp>();
  if (slice && storage.isView(slice) && isWindow(slice)) {
    BufferOp window =
        parent.createBuffer(value, transientRole(value), nameFor(value),
                            placeOf(storage.find(value).storage->owner),
                            bufferOf(slice.getX()), windowOffset(slice));
    window.setWindow(slice.getStart());
    return FlatSymbolRefAttr::get(window.getSymNameAttr());
  }
  auto [memory, offset] = storage.find(value);
  BufferOp base = baseOf(memory);
  auto name = FlatSymbolRefAttr::get(base.getSymNameAttr());
  bool whole = offset == 0 && base.getType() == plainType(value.getType());
  if (whole && (memory->given || memory->owner == value))
    return name;
  BufferOp view =
      parent.createBuffer(value, transientRole(value), nameFor(value),
                          placeOf(memory->owner), name, offset);
  return FlatSymbolRefAttr::get(view.getSymNameAttr());
}

/// The layer, phase and tile of an op; no layer for an op without `train.work`
/// (the copy of an argument that is returned).
static train::WorkAttr workFor(Operation *op) {
  train::WorkAttr work = train::workOf(op);
  return work ? work
              : train::WorkAttr::get(op->getContext(), "", Phase::forward,
                                     std::nullopt);
}

void FunctionBuilder::call(Operation *op, StringRef callee,
                           ArrayRef<Attribute> ins, ArrayRef<Attribute> outs,
                           FlatSymbolRefAttr kernel, DictionaryAttr params) {
  exec::CallOp::create(calls, op->getLoc(), calls.getStringAttr(callee),
                       parent.laneOf(placeOf(op)), calls.getArrayAttr(outs),
                       calls.getArrayAttr(ins), kernel, params, workFor(op));
}

void FunctionBuilder::copy(Operation *op, Value value, BufferOp target) {
  call(op, "reshape", {bufferOf(value)},
       {FlatSymbolRefAttr::get(target.getSymNameAttr())});
}

/// The fields of the runtime function's parameter struct (runtime/core/Ops.h):
/// the op's own attributes, defaults filled in.
static DictionaryAttr paramsOf(train::KernelOpInterface op) {
  NamedAttrList params;
  for (StringRef field : op.fields())
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
        parent.given(StorageMap::parameterKey(write.getParameterAttr()));
    if (write.getBegin())
      target = parent.createBuffer(
          value, transientRole(value), nameFor(value) + ".part", placeOf(value),
          FlatSymbolRefAttr::get(target.getSymNameAttr()),
          *storage.offsetOf(write));
    copy(op, value, target);
    return success();
  }
  if (op->use_empty()) // no result is read
    return success();

  SmallVector<Attribute> ins, outs;
  for (Value operand : op->getOperands())
    ins.push_back(bufferOf(operand));
  if (auto map = dyn_cast<train::MapOp>(op)) {
    // The scalars are the last operand of a map that draws random numbers.
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

  auto kernel = dyn_cast<train::KernelOpInterface>(op);
  if (!kernel)
    return op->emitOpError("is not a runtime call");
  train::Arity results = kernel.resultArity(), operands = kernel.operandArity();
  // A result that no op reads is absent, except the first one: the call is made
  // for it.
  for (OpResult result : op->getResults()) {
    bool primary = result.getResultNumber() == 0 && !results.list;
    outs.push_back(primary || !result.use_empty() ? bufferOf(result) : absent);
  }
  // Absent optional tensors stand last.
  ins.resize(std::max<size_t>(ins.size(), operands.single), absent);
  outs.resize(std::max<size_t>(outs.size(), results.single), absent);
  call(op, op->getName().stripDialect(), ins, outs, {}, paramsOf(kernel));
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
           parent.given(given));
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
    // @evaluate may give more: the scores.
    TypeRange results = funcs[1].getResultTypes();
    size_t common = std::min<size_t>(results.size(), funcs[0].getNumResults());
    if (plain(funcs[0].getArgumentTypes()) !=
            plain(funcs[1].getArgumentTypes()) ||
        plain(funcs[0].getResultTypes()) != plain(results.take_front(common))) {
      funcs[1].emitError("has another signature than @")
          << train::trainStepFunc;
      return signalPassFailure();
    }
    Declarations declarations(module, funcs);
    exec::ProgramOp program = declarations.getProgram();
    // Each of these takes a thread: they only read.
    std::deque<StorageMap> storages;
    for (func::FuncOp func : funcs) {
      storages.emplace_back(func);
      for (Operation &op : func.getBody().front()) // defaults are fields, too
        op.getName().populateDefaultProperties(op.getPropertiesStorage());
    }
    SmallVector<SmallVector<int64_t>> meanings(funcs.size());
    if (failed(allInParallel(&getContext(), 2 * funcs.size(), [&](size_t i) {
          if (i < funcs.size())
            return storages[i].run();
          meanings[i - funcs.size()] = meaningOf(funcs[i - funcs.size()]);
          return success();
        })))
      return signalPassFailure();
    for (auto [func, storage, meaning] :
         llvm::zip_equal(funcs, storages, meanings)) {
      auto sequence = cast<exec::SequenceOp>(
          SymbolTable::lookupSymbolIn(program, func.getSymName()));
      if (failed(FunctionBuilder(declarations, func, storage).run(sequence)))
        return signalPassFailure();
      sequence.setMeaning(meaning);
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<func::FuncOp, train::ParameterOp>(op))
        op.erase();
    module->removeAttr(train::orderAttr);
    mergeTransfers(program);
    synchronize(program);
  }
};
} // namespace

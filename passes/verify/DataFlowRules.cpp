//===- DataFlowRules.cpp - The rules of values ----------------------------===//
//
// The rules of every form about sizes (A1), and those of `imported` and
// `differentiated` about signatures, parameters, phases and updates (I1 to D5),
// which later forms keep.
//
//===----------------------------------------------------------------------===//

#include "ir/Size.h"
#include "passes/verify/FormRules.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;
using namespace lwcc::forms;

//===----------------------------------------------------------------------===//
// Every form
//===----------------------------------------------------------------------===//

/// Rule A1, on which every pass relies when it multiplies and adds sizes. The
/// verifiers of the exec dialect hold buffers to the same limits.
void FormRules::sizes() {
  int64_t values = 0;
  auto check = [&](Operation *op, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    if (!type.hasStaticShape()) {
      broken(op, "A1") << "a value of type " << type
                       << " has an extent that is not known";
      return;
    }
    std::optional<int64_t> count = elementCount(type.getShape());
    int64_t bytes = count.value_or(0) * elementBytes(type);
    if (!count || size_t(type.getRank()) > maxTensorRank)
      broken(op, "A1") << "a value of type " << type << " has more than "
                       << (maxBytes >> 40) << " TiB or " << maxTensorRank
                       << " dimensions";
    else if (!addBytes(values, bytes)) {
      broken(op, "A1") << "the values of the program have more than "
                       << (maxBytes >> 40) << " TiB";
      values = 0;
    }
  };
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    values = 0;
    for (Value argument : func.getArguments())
      check(func, argument);
    for (Operation &op : func.getBody().front())
      for (Value result : op.getResults())
        check(&op, result);
  }
}

//===----------------------------------------------------------------------===//
// imported
//===----------------------------------------------------------------------===//

void FormRules::imported() {
  func::FuncOp func = only(modelFunc, "I1");
  noOtherFunctions({modelFunc}, "I1");
  if (!func)
    return;
  checkSignature(func, "I1");
  TypeRange results = func.getResultTypes();
  auto auxiliary = module->getAttrOfType<ArrayAttr>(auxiliaryAttr);
  if (auxiliary ? results.size() != 1 + auxiliary.size()
                : results.empty() || results.size() > 2 ||
                      (results.size() == 2 && !isScalar(results[0])))
    broken(func, "I2") << "the results are not the logits, or loss and logits, "
                          "or logits and the "
                       << auxiliaryAttr << " outputs";
  for (Operation &op : opsOf(func)) {
    auto write = dyn_cast<WriteOp>(op);
    auto written = write ? symbols.lookup<ParameterOp>(write.getParameter())
                         : ParameterOp();
    const bool changesBuffer = written && written.getRole() == Role::statistic;
    if ((isGradientOrUpdate(&op) && !changesBuffer) ||
        phaseOf(&op) != Phase::forward)
      broken(&op, "I3") << "'" << op.getName() << "' is no forward op";
    if (layerOf(&op).empty())
      broken(&op, "I3") << "the op has no " << workAttr;
    if (op.getNumResults() > 0 && !op.hasAttr(namesAttr))
      broken(&op, "I3") << "the results have no " << namesAttr;
    if (auto norm = dyn_cast<BatchNormOp>(op))
      for (Value result : norm->getResults().drop_front())
        if (!result.use_empty())
          broken(&op, "I4") << "more than y of batch_norm is used";
  }
  checkParameters(func);
}

/// (inputs, labels, scalars), with shares behind the labels where these are
/// soft, and labels of other outputs; in `imported` labels may be missing, and
/// from `sharded` on each may be there in several parts.
void FormRules::checkSignature(func::FuncOp func, StringRef rule) {
  Block &body = func.getBody().front();
  bool mayLack = rule == "I1";
  auto isTyped = [&](BlockArgument argument) {
    RankedTensorType type = plainType(argument.getType());
    switch (roleOf(argument)) {
    case Role::input:
      return type && type.getElementType().isF32();
    case Role::labels:
    case Role::auxiliary:
      return type && (type.getElementType().isInteger(32) ||
                      type.getElementType().isF32());
    case Role::shares:
      return type && type.getElementType().isF32();
    case Role::scalars:
      return type == scalarsType(func.getContext());
    default:
      return false;
    }
  };
  auto count = [&](Role role) {
    return llvm::count_if(body.getArguments(), [&](BlockArgument argument) {
      return roleOf(argument) == role && isTyped(argument);
    });
  };
  auto inputs = count(Role::input);
  auto labels = count(Role::labels);
  auto shares = count(Role::shares);
  auto auxiliary = count(Role::auxiliary);
  auto scalars = count(Role::scalars);
  bool parts = llvm::any_of(body.getArguments(), [&](BlockArgument argument) {
    return func.getArgAttr(argument.getArgNumber(), tensorAttr) != nullptr;
  });
  bool good = inputs + labels + shares + auxiliary + scalars ==
              static_cast<long>(body.getNumArguments());
  if (parts)
    good = good && inputs > 0 && labels > 0 && scalars > 0;
  else
    good = good && inputs > 0 && scalars == 1 && shares <= (mayLack ? 0 : 1) &&
           (labels == 1 || (mayLack && labels == 0));
  if (!good)
    broken(func, rule) << "the arguments are not (inputs, labels, scalars)";
  for (BlockArgument argument : body.getArguments())
    if (nameOf(argument).empty())
      broken(func, rule) << "argument " << argument.getArgNumber() << " has no "
                         << argNameAttr;
}

/// Checks that a write's part lies in the parameter and overlaps none of
/// `others`; then adds the write to `others`.
void FormRules::checkPart(WriteOp write, SmallVectorImpl<WriteOp> &others) {
  auto parameter = symbols.lookup<ParameterOp>(write.getParameter());
  if (!parameter) {
    broken(write, "I5") << "there is no parameter @" << write.getParameter();
    return;
  }
  ArrayRef<int64_t> begin = *write.getBegin();
  auto whole = cast<RankedTensorType>(parameter.getType());
  auto type = cast<RankedTensorType>(write.getValue().getType());
  bool inside = whole.getRank() == type.getRank() &&
                static_cast<int64_t>(begin.size()) == type.getRank();
  for (int64_t d = 0; inside && d < type.getRank(); ++d)
    inside =
        begin[d] >= 0 && begin[d] <= whole.getDimSize(d) - type.getDimSize(d);
  if (!inside) {
    broken(write, "I5") << "a part of type " << type << " at [" << begin
                        << "] is not inside parameter @" << write.getParameter()
                        << " of type " << whole;
    return;
  }
  for (WriteOp other : others) {
    bool apart = false;
    auto otherType = cast<RankedTensorType>(other.getValue().getType());
    for (int64_t d = 0; d < type.getRank(); ++d)
      apart |= begin[d] + type.getDimSize(d) <= (*other.getBegin())[d] ||
               (*other.getBegin())[d] + otherType.getDimSize(d) <= begin[d];
    if (!apart)
      broken(write, "I5")
              .append("a part of @", write.getParameter(), " is written twice")
              .attachNote(other->getLoc())
          << "first here";
  }
  others.push_back(write);
}

/// Checks that each read and write names a parameter of its type, and that each
/// parameter is read at most once and written once or in disjoint parts.
void FormRules::checkParameters(func::FuncOp func) {
  auto check = [&](Operation *op, StringRef name, Value value,
                   llvm::SmallDenseMap<StringRef, Operation *> &seen) {
    auto parameter = symbols.lookup<ParameterOp>(name);
    if (!parameter)
      broken(op, "I5") << "there is no parameter @" << name;
    else if (plainType(parameter.getType()) != plainType(value.getType()))
      broken(op, "I5") << "parameter @" << name << " is a "
                       << parameter.getType() << ", not a " << value.getType();
    auto [first, isNew] = seen.try_emplace(name, op);
    if (!isNew)
      broken(op, "I5")
              .append("@", name, " is touched twice in the same way")
              .attachNote(first->second->getLoc())
          << "first here";
  };
  llvm::SmallDenseMap<StringRef, Operation *> reads, writes;
  llvm::StringMap<SmallVector<WriteOp>> parts;
  for (Operation &op : opsOf(func)) {
    if (auto read = dyn_cast<ReadOp>(op))
      check(&op, read.getParameter(), read.getValue(), reads);
    auto write = dyn_cast<WriteOp>(op);
    if (!write)
      continue;
    if (!write.getBegin())
      check(&op, write.getParameter(), write.getValue(), writes);
    else
      checkPart(write, parts[write.getParameter()]);
  }
}

//===----------------------------------------------------------------------===//
// differentiated
//===----------------------------------------------------------------------===//

void FormRules::differentiated() {
  func::FuncOp step = only(trainStepFunc, "D1");
  func::FuncOp evaluate = only(evaluateFunc, "D1");
  noOtherFunctions({trainStepFunc, evaluateFunc}, "D1");
  if (!step || !evaluate)
    return;
  for (func::FuncOp func : {step, evaluate}) {
    checkSignature(func, "D1");
    RankedTensorType counts = tensorOf(func.getContext(), {2});
    TypeRange results = func.getResultTypes();
    // @evaluate may also give the scores.
    if (results.size() < 2 || results.size() > (func == step ? 2 : 3) ||
        !isScalar(results[0]) || plainType(results[1]) != counts ||
        (results.size() == 3 && plainType(results[2]).getRank() != 2))
      broken(func, "D1") << "the results are not (loss, counts"
                         << (func == step ? ")"
                                          : ") or (loss, counts, scores)");
    checkParameters(func);
    checkPhases(func);
    for (Operation &op : opsOf(func))
      if (isa<BatchNormOp, BatchNormGradOp, DropoutOp>(op))
        broken(&op, "D4") << "'" << op.getName() << "' is not decomposed";
  }
  auto plain = [](TypeRange types) {
    return llvm::map_to_vector(types, plainType);
  };
  if (plain(step.getArgumentTypes()) != plain(evaluate.getArgumentTypes()))
    broken(evaluate, "D1") << "@" << evaluateFunc << " and @" << trainStepFunc
                           << " have different arguments";
  checkUpdates(step);
  for (Operation &op : opsOf(evaluate)) {
    if (isa<WriteOp>(op))
      broken(&op, "D3") << "@" << evaluateFunc << " writes a parameter";
    if (auto map = dyn_cast<MapOp>(op); map && map.getScalars())
      if (llvm::Expected<Expression> e = Expression::parse(map.getExpr());
          e && e->usesDropout())
        broken(&op, "D3") << "@" << evaluateFunc << " drops elements";
  }
}

/// Checks that data flows from forward to backward to weight to update, never
/// back.
void FormRules::checkPhases(func::FuncOp func) {
  for (Operation &op : opsOf(func)) {
    if (phaseOf(&op) == Phase::forward && isGradientOrUpdate(&op) &&
        !isa<WriteOp>(op)) // running statistics
      broken(&op, "D2") << "'" << op.getName() << "' in the forward phase";
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (phaseOf(producer) > phaseOf(&op))
          broken(&op, "D2")
                  .append("a ", phaseName(phaseOf(&op)),
                          " op uses a value of the phase ",
                          phaseName(phaseOf(producer)))
                  .attachNote(producer->getLoc())
              << "made here";
  }
}

/// Checks that every trainable parameter on which the loss depends is written.
void FormRules::checkUpdates(func::FuncOp step) {
  llvm::SmallDenseSet<StringRef> written;
  for (auto write : step.getOps<WriteOp>())
    written.insert(write.getParameter());
  llvm::SetVector<Value> slice;
  if (terminatorOf(step)->getNumOperands() > 0)
    slice.insert(terminatorOf(step)->getOperand(0));
  for (size_t i = 0; i < slice.size(); ++i) {
    Operation *op = slice[i].getDefiningOp();
    if (!op)
      continue;
    slice.insert_range(op->getOperands());
    auto read = dyn_cast<ReadOp>(op);
    if (!read || written.contains(read.getParameter()))
      continue;
    auto parameter = symbols.lookup<ParameterOp>(read.getParameter());
    if (parameter && parameter.getRole() == Role::trainable)
      broken(read, "D2") << "trainable parameter @" << read.getParameter()
                         << " is never updated";
  }
}

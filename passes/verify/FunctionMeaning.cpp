//===- FunctionMeaning.cpp - What a function computes ---------------------===//
//
// The meaning of a function, by its SSA values: evaluates each op once, in
// program order. Ops that become calls of another name (map, constant) are
// translated here. Nothing is known of memory.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::meaning;

/// The parameters of an op. Its defaults have been filled in.
static DictionaryAttr fieldsOf(mlir::Operation *op) {
  NamedAttrList fields;
  if (op->getPropertiesStorageSize() == 0)
    return {};
  if (auto all =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    for (NamedAttribute field : all)
      if (!field.getName().strref().ends_with("SegmentSizes"))
        fields.append(field);
  return fields.empty() ? DictionaryAttr()
                        : fields.getDictionary(op->getContext());
}

static meaning::Application translate(mlir::Operation *op) {
  meaning::Application operation;
  operation.callee = op->getName().stripDialect();
  Builder builder(op->getContext());
  if (auto map = dyn_cast<train::MapOp>(op)) {
    operation.expression = map.getExpr();
    operation.inputs = map.getInputs().size();
    // The part of the tensor for which a map draws random numbers.
    NamedAttrList fields;
    if (Attribute begin = op->getAttr(train::beginAttr))
      fields.append("begin", begin);
    if (Attribute dims = op->getAttr(train::dimsAttr))
      fields.append("dims", dims);
    if (!fields.empty())
      operation.fields = fields.getDictionary(op->getContext());
  } else if (auto constant = dyn_cast<train::ConstantOp>(op)) {
    operation.callee = "fill";
    operation.fields = builder.getDictionaryAttr(builder.getNamedAttr(
        "value", cast<DenseElementsAttr>(constant.getValue())
                     .getSplatValue<Attribute>()));
  } else {
    operation.fields = fieldsOf(op);
  }
  return operation;
}

namespace {

class FunctionReader {
public:
  explicit FunctionReader(func::FuncOp func)
      : func(func), builder(func.getContext()) {}

  SmallVector<int64_t> run();

private:
  /// A type without its place.
  RankedTensorType typeOf(Type type) {
    RankedTensorType &plain = plainTypes[type];
    if (!plain) {
      auto tensor = cast<RankedTensorType>(type);
      plain = RankedTensorType::get(tensor.getShape(), tensor.getElementType());
    }
    return plain;
  }
  /// Registers a tensor that becomes a persistent buffer.
  void addTensor(Role role, StringRef name, Type type,
                 DictionaryAttr attributes, ArrayRef<Attribute> more = {});
  void addParametersAndArguments();
  void evaluate(mlir::Operation *op);
  void write(train::WriteOp write);
  size_t numberOf(FlatSymbolRefAttr parameter) const {
    return parameters.lookup(parameter.getAttr());
  }

  func::FuncOp func;
  Builder builder;
  Evaluator evaluator;
  llvm::DenseMap<Attribute, size_t> parameters; ///< by symbol
  // Of parameters, then arguments: type, content at first, content in the end.
  SmallVector<RankedTensorType> types;
  SmallVector<Content> before, after;
  llvm::DenseMap<Value, Content> contents;
  llvm::DenseMap<Type, RankedTensorType> plainTypes;
};

} // namespace

void FunctionReader::addTensor(Role role, StringRef name, Type type,
                               DictionaryAttr attributes,
                               ArrayRef<Attribute> more) {
  types.push_back(typeOf(type));
  ArrayRef<int64_t> shape = types.back().getShape();
  auto attributeOr = [&](StringRef key, Attribute whole) {
    Attribute part = attributes ? attributes.get(key) : Attribute();
    return part ? part : whole;
  };
  SmallVector<int64_t> zeros(shape.size(), 0);
  SmallVector<Attribute> properties = {
      train::RoleAttr::get(func.getContext(), role),
      attributeOr(train::tensorAttr, builder.getStringAttr(name)),
      attributeOr(train::dimsAttr, builder.getDenseI64ArrayAttr(shape)),
      attributeOr(train::beginAttr, builder.getDenseI64ArrayAttr(zeros))};
  properties.append(more.begin(), more.end());
  before.push_back(evaluator.initial(before.size(), types.back(), properties));
}

void FunctionReader::addParametersAndArguments() {
  auto module = func->getParentOfType<ModuleOp>();
  for (auto parameter : module.getOps<train::ParameterOp>()) {
    parameters[parameter.getSymNameAttr()] = before.size();
    addTensor(parameter.getRole(), parameter.getSymName(), parameter.getType(),
              parameter->getDiscardableAttrDictionary(),
              {parameter.getInitAttr(), parameter.getFreshAttr()});
  }
  for (BlockArgument argument : func.getArguments()) {
    std::string name = train::nameOf(argument).str();
    if (name.empty())
      name = "arg" + std::to_string(argument.getArgNumber());
    addTensor(train::roleOf(argument), name, argument.getType(),
              func.getArgAttrDict(argument.getArgNumber()));
    contents[argument] = before.back();
  }
}

void FunctionReader::write(train::WriteOp write) {
  size_t number = numberOf(write.getParameterAttr());
  RankedTensorType whole = types[number];
  RankedTensorType part = typeOf(write.getValue().getType());
  SmallVector<int64_t> start(whole.getRank(), 0), step(whole.getRank(), 1);
  if (auto begin = write.getBegin())
    start.assign(begin->begin(), begin->end());
  // A part that is not stored densely cannot be written: train-to-exec reports
  // it.
  int64_t first = denseRange(whole, start, step, part).value_or(0);
  int64_t end = first + exec::bytesOf(part);
  Content now = rangeOf(after[number], 0, first);
  append(now, contents.lookup(write.getValue()));
  append(now, rangeOf(after[number], end, exec::bytesOf(whole) - end));
  after[number] = now;
}

void FunctionReader::evaluate(mlir::Operation *op) {
  meaning::Application operation = translate(op);
  for (Value operand : op->getOperands())
    operation.operands.push_back(
        {typeOf(operand.getType()), contents.lookup(operand)});
  for (Type type : op->getResultTypes())
    operation.results.push_back(typeOf(type));
  for (auto [result, content] :
       llvm::zip_equal(op->getResults(), evaluator.evaluate(operation)))
    contents[result] = content;
}

SmallVector<int64_t> FunctionReader::run() {
  addParametersAndArguments();
  after = before;
  Block &body = func.getBody().front();
  for (mlir::Operation &op : body.without_terminator()) {
    if (auto read = dyn_cast<train::ReadOp>(op))
      contents[read.getValue()] = before[numberOf(read.getParameterAttr())];
    else if (auto write = dyn_cast<train::WriteOp>(op))
      this->write(write);
    else
      evaluate(&op);
  }
  SmallVector<int64_t> numbers;
  for (auto [first, last] : llvm::zip_equal(before, after))
    numbers.push_back(Evaluator::numberOf(func.getSymName(), first, last));
  auto addResult = [&](OpOperand &result, bool isOurs) {
    auto role =
        train::RoleAttr::get(func.getContext(), train::roleOfResult(result));
    Content first = evaluator.initial(numbers.size(),
                                      typeOf(result.get().getType()), {role});
    numbers.push_back(
        Evaluator::numberOf(func.getSymName(), first,
                            isOurs ? contents.lookup(result.get()) : first));
  };
  auto results = body.getTerminator()->getOpOperands();
  for (OpOperand &result : results)
    addResult(result, true);
  // What only the other function gives has memory, too, and is left alone.
  auto other = func->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
      train::evaluateFunc);
  if (other && !other.isExternal())
    for (OpOperand &result :
         other.getBody().front().getTerminator()->getOpOperands().drop_front(
             std::min<size_t>(results.size(), other.getNumResults())))
      addResult(result, false);
  return numbers;
}

SmallVector<int64_t> lwcc::meaningOf(func::FuncOp func) {
  return FunctionReader(func).run();
}

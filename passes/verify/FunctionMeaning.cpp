//===- FunctionMeaning.cpp - What a function computes ---------------------===//
//
// The side of the values: each op once, in the order of the function. Ops that
// become a call of another name are translated here; nothing is known of
// memory.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/verify/Meaning.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::meaning;

static RankedTensorType typeOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// Everything that the op says of itself, defaults included.
static DictionaryAttr fieldsOf(mlir::Operation *op) {
  op->getName().populateDefaultProperties(op->getPropertiesStorage());
  NamedAttrList fields;
  if (auto all =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    for (NamedAttribute field : all)
      if (!field.getName().strref().ends_with("SegmentSizes"))
        fields.append(field);
  return fields.empty() ? DictionaryAttr()
                        : fields.getDictionary(op->getContext());
}

static meaning::Operation translate(mlir::Operation *op) {
  meaning::Operation operation;
  operation.callee = op->getName().stripDialect();
  Builder builder(op->getContext());
  if (auto map = dyn_cast<train::MapOp>(op)) {
    operation.expression = map.getExpr();
    operation.inputs = map.getInputs().size();
    // Which part of a tensor it draws random numbers for.
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

static exec::Role roleOf(train::ParameterKind kind) {
  switch (kind) {
  case train::ParameterKind::Trainable:
  case train::ParameterKind::Frozen:
    return exec::Role::Parameter;
  case train::ParameterKind::Statistic:
    return exec::Role::Statistic;
  case train::ParameterKind::Optimizer:
    return exec::Role::Optimizer;
  case train::ParameterKind::Constant:
    return exec::Role::Constant;
  }
  llvm_unreachable("all kinds covered");
}

/// Of an argument: input, labels and scalars have elements of their own.
static exec::Role roleOf(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isF32()         ? exec::Role::Input
         : element.isInteger(32) ? exec::Role::Labels
                                 : exec::Role::Scalars;
}

SmallVector<int64_t> lwcc::meaningOf(func::FuncOp func) {
  auto module = func->getParentOfType<ModuleOp>();
  Block &body = func.getBody().front();
  Builder builder(func.getContext());
  Evaluator evaluator;

  // Parameters, arguments, results: what they hold at first, and in the end.
  SmallVector<Content> before, after;
  llvm::DenseMap<Attribute, size_t> parameters; ///< by symbol
  SmallVector<RankedTensorType> types;
  llvm::DenseMap<Value, Content> contents;
  auto addTensor = [&](exec::Role role, StringRef name, Type type,
                       DictionaryAttr attributes, ArrayRef<Attribute> more) {
    ArrayRef<int64_t> shape = typeOf(type).getShape();
    auto attributeOr = [&](StringRef key, Attribute whole) {
      Attribute part = attributes ? attributes.get(key) : Attribute();
      return part ? part : whole;
    };
    SmallVector<Attribute> properties = {
        exec::RoleAttr::get(func.getContext(), role),
        attributeOr(train::tensorAttr, builder.getStringAttr(name)),
        attributeOr(train::dimsAttr, builder.getDenseI64ArrayAttr(shape)),
        attributeOr(train::beginAttr,
                    builder.getDenseI64ArrayAttr(
                        SmallVector<int64_t>(shape.size(), 0)))};
    properties.append(more.begin(), more.end());
    types.push_back(typeOf(type));
    before.push_back(
        evaluator.initial(before.size(), types.back(), properties));
  };
  for (auto parameter : module.getOps<train::ParameterOp>()) {
    parameters[parameter.getSymNameAttr()] = before.size();
    addTensor(roleOf(parameter.getKind()), parameter.getSymName(),
              parameter.getType(), parameter->getDiscardableAttrDictionary(),
              {parameter.getKindAttr(), parameter.getInitAttr(),
               parameter.getFreshAttr()});
  }
  for (BlockArgument argument : body.getArguments()) {
    std::string name = train::nameOf(argument).str();
    if (name.empty())
      name = "arg" + std::to_string(argument.getArgNumber());
    addTensor(roleOf(typeOf(argument.getType())), name, argument.getType(),
              func.getArgAttrDict(argument.getArgNumber()), {});
    contents[argument] = before.back();
  }
  after = before;

  for (mlir::Operation &op : body.without_terminator()) {
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      contents[read.getValue()] =
          before[parameters.lookup(read.getParameterAttr().getAttr())];
      continue;
    }
    if (auto write = dyn_cast<train::WriteOp>(op)) {
      size_t number = parameters.lookup(write.getParameterAttr().getAttr());
      Content &target = after[number];
      const Content &value = contents[write.getValue()];
      RankedTensorType whole = types[number];
      RankedTensorType part = typeOf(write.getValue().getType());
      SmallVector<int64_t> start(whole.getRank(), 0), step(whole.getRank(), 1);
      if (auto begin = write.getBegin())
        start.assign(begin->begin(), begin->end());
      // Only what is stored densely can be written; train-to-exec says so.
      int64_t first = denseRange(whole, start, step, part).value_or(0);
      int64_t end = first + exec::bytesOf(part);
      Content now = rangeOf(target, 0, first);
      append(now, value);
      append(now, rangeOf(target, end, exec::bytesOf(whole) - end));
      target = now;
      continue;
    }
    meaning::Operation operation = translate(&op);
    for (Value operand : op.getOperands())
      operation.operands.push_back(
          {typeOf(operand.getType()), contents.lookup(operand)});
    for (Type type : op.getResultTypes())
      operation.results.push_back(typeOf(type));
    for (auto [result, content] :
         llvm::zip_equal(op.getResults(), evaluator.evaluate(operation)))
      contents[result] = content;
  }

  SmallVector<int64_t> numbers;
  for (auto [first, last] : llvm::zip_equal(before, after))
    numbers.push_back(Evaluator::numberOf(func.getSymName(), first, last));
  for (Value result : body.getTerminator()->getOperands()) {
    RankedTensorType type = typeOf(result.getType());
    auto role = exec::RoleAttr::get(func.getContext(),
                                    type.getRank() == 0 ? exec::Role::Loss
                                                        : exec::Role::Metric);
    numbers.push_back(Evaluator::numberOf(
        func.getSymName(), evaluator.initial(numbers.size(), type, {role}),
        contents.lookup(result)));
  }
  return numbers;
}

//===- LossArguments.cpp - What a loss takes of a model -------------------===//

#include "passes/differentiate/LossArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

std::optional<unsigned> train::findArgument(func::FuncOp func, Role role) {
  for (BlockArgument argument : func.getArguments())
    if (roleOf(argument) == role)
      return argument.getArgNumber();
  return std::nullopt;
}

Value train::classesSecond(OpBuilder &builder, Location loc, Value scores,
                           StringRef layer) {
  ArrayRef<int64_t> shape = typeOf(scores).getShape();
  if (shape.size() < 3)
    return scores;
  Operation *op = nullptr;
  if (llvm::all_of(shape.drop_front(2), [](int64_t d) { return d == 1; })) {
    auto matrix = tensorOf(builder.getContext(), shape.take_front(2));
    op = ReshapeOp::create(builder, loc, matrix, scores);
  } else if (classAxis(shape) == 2) {
    auto moved = tensorOf(builder.getContext(), {shape[0], shape[2], shape[1]});
    op = TransposeOp::create(builder, loc, moved, scores,
                             ArrayRef<int64_t>{0, 2, 1});
  } else {
    return scores;
  }
  setWork(op, layer, Phase::forward);
  return op->getResult(0);
}

FailureOr<Value> train::addArgument(func::FuncOp func, Role role,
                                    StringRef name, ArrayRef<int64_t> shape,
                                    Type element) {
  std::optional<unsigned> scalars = findArgument(func, Role::scalars);
  if (!scalars)
    return func.emitError(
        "@model has no argument that is #train.role<scalars>");
  MLIRContext *context = func.getContext();
  Builder builder(context);
  DictionaryAttr attrs = builder.getDictionaryAttr(
      {builder.getNamedAttr(argNameAttr, builder.getStringAttr(name)),
       builder.getNamedAttr(roleAttr, RoleAttr::get(context, role))});
  if (failed(func.insertArgument(*scalars,
                                 RankedTensorType::get(shape, element), attrs,
                                 func.getLoc())))
    return failure();
  return Value(func.getArgument(*scalars));
}

SmallVector<int64_t> train::labelShape(RankedTensorType scores) {
  SmallVector<int64_t> shape(scores.getShape());
  shape.erase(shape.begin() + 1);
  return shape;
}

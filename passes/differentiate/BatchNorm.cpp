//===- BatchNorm.cpp - Batch normalization as maps ------------------------===//
//
// Builds the views and maps that both modes of batch normalization share.
// Which statistics they are given is decided by the passes.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/BatchNorm.h"

using namespace mlir;
using namespace lwcc::train;

/// An op that makes another tensor of a value, behind the value's definition;
/// the one that stands there if it was made before.
template <typename OpT, typename... Args>
static Value onceFrom(OpBuilder &builder, Value value, RankedTensorType type,
                      StringRef suffix, Operation *layer, Args... attributes) {
  Operation *user = &*builder.getInsertionPoint();
  for (Operation *other : value.getUsers())
    if (isa<OpT>(other) && other->getResult(0).getType() == type &&
        other->isBeforeInBlock(user))
      return other->getResult(0);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  auto made = OpT::create(builder, value.getLoc(), type, value, attributes...);
  inheritWork(made, layer, phaseOf(layer));
  if (StringRef name = nameOf(value); !name.empty())
    setNames(made, {(name + suffix).str()});
  return made;
}

Value lwcc::train::perChannel(OpBuilder &builder, Value value, Value images,
                              int64_t group, Operation *layer) {
  RankedTensorType whole = statisticsType(images, 0);
  if (typeOf(value) == whole)
    return value;
  if (typeOf(value).getRank() == 1)
    return onceFrom<ReshapeOp>(builder, value, whole, ".per_channel", layer);
  return onceFrom<RepeatOp>(
      builder, value, statisticsType(images, typeOf(images).getDimSize(0)),
      ".per_sample", layer, builder.getI64IntegerAttr(group),
      builder.getI64IntegerAttr(0));
}

/// A row of x and of values per channel.
static MapOp normalize(OpBuilder &builder, BatchNormOp op, StringRef row,
                       ArrayRef<Value> channels) {
  SmallVector<Value> inputs{op.getX()};
  for (Value value : channels)
    inputs.push_back(perChannel(builder, value, op.getX(), op.getGroup(), op));
  MapOp map = buildMap(builder, op.getLoc(), row, inputs,
                       builder.getDictionaryAttr({}));
  inheritWork(map, op, phaseOf(op));
  if (StringRef name = nameOf(op.getY()); !name.empty())
    setNames(map, {name});
  return map;
}

MapOp lwcc::train::applyBatchNorm(OpBuilder &builder, BatchNormOp op,
                                  Value mean, Value invstd) {
  return normalize(builder, op, "batch_norm_apply",
                   {mean, invstd, op.getScale(), op.getBias()});
}

MapOp lwcc::train::evaluateBatchNorm(OpBuilder &builder, BatchNormOp op,
                                     Value invstd) {
  MapOp factor = buildMap(builder, op.getLoc(), "mul", {invstd, op.getScale()});
  inheritWork(factor, op, phaseOf(op));
  if (StringRef name = nameOf(op.getY()); !name.empty())
    setNames(factor, {(name + ".factor").str()});
  return normalize(builder, op, "batch_norm_evaluate",
                   {op.getRunningMean(), factor, op.getBias()});
}

DictionaryAttr
lwcc::train::floatParams(MLIRContext *context,
                         ArrayRef<std::pair<StringRef, double>> params) {
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  for (auto [name, value] : params)
    entries.push_back(builder.getNamedAttr(
        name, builder.getF32FloatAttr(static_cast<float>(value))));
  return builder.getDictionaryAttr(entries);
}

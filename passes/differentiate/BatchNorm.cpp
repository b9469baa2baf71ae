//===- BatchNorm.cpp - Batch normalization as maps ------------------------===//
//
// Builds the views and maps that both modes of batch normalization share.
// Which statistics they are given is decided by the passes.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/BatchNorm.h"

#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace lwcc::train;

Value lwcc::train::perChannel(OpBuilder &builder, Value value, int64_t rank,
                              Operation *layer) {
  if (rank == 2)
    return value;
  SmallVector<int64_t> shape(rank - 1, 1);
  shape[0] = cast<RankedTensorType>(value.getType()).getDimSize(0);
  RankedTensorType type = tensorOf(builder.getContext(), shape);
  Operation *user = &*builder.getInsertionPoint();
  for (Operation *other : value.getUsers())
    if (isa<ReshapeOp>(other) && other->getResult(0).getType() == type &&
        other->isBeforeInBlock(user))
      return other->getResult(0);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  auto view = ReshapeOp::create(builder, value.getLoc(), type, value);
  inheritWork(view, layer, phaseOf(layer));
  SmallString<64> name(nameOf(value));
  if (!name.empty())
    setNames(view, {(name += ".per_channel").str()});
  return view;
}

MapOp lwcc::train::applyBatchNorm(OpBuilder &builder, BatchNormOp op,
                                  Value mean, Value invstd) {
  int64_t rank = cast<RankedTensorType>(op.getX().getType()).getRank();
  SmallVector<Value> inputs{op.getX()};
  const Value channels[] = {mean, invstd, op.getScale(), op.getBias()};
  for (Value value : channels)
    inputs.push_back(perChannel(builder, value, rank, op));
  MapOp map = buildMap(builder, op.getLoc(), "batch_norm_apply", inputs,
                       builder.getDictionaryAttr({}));
  inheritWork(map, op, phaseOf(op));
  if (StringRef name = nameOf(op.getY()); !name.empty())
    setNames(map, {name});
  return map;
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

//===- Shard.cpp - One op per tile, every value in its place --------------===//
//
// Takes `planned`, gives `sharded`: an op runs at the place of its tile and its
// results lie there, written into their types, so that a missing transfer is a
// type error. Arguments lie where their first user runs.
//
// Decides nothing. With one tile per layer no value needs to be cut, assembled
// or moved between devices; an operand on another device is therefore an error
// here, where the ops that move it will be made.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

namespace lwcc {
#define GEN_PASS_DEF_SHARD
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static void placeValue(Value value, PlaceAttr place) {
  auto type = cast<RankedTensorType>(value.getType());
  value.setType(
      RankedTensorType::get(type.getShape(), type.getElementType(), place));
}

static LogicalResult placeFunction(func::FuncOp func) {
  Block &body = func.getBody().front();
  for (Operation &op : body.without_terminator()) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling || tiling.getPlaces().empty())
      return op.emitOpError("has no ") << tilingAttr;
    if (tiling.getPlaces().size() != 1)
      return op.emitOpError("has ")
             << tiling.getPlaces().size()
             << " tiles; that needs more than one device, which this version "
                "cannot place yet";
    PlaceAttr place = tiling.getPlaces().front();
    for (Value result : op.getResults())
      placeValue(result, place);
    // A constant's value has its type.
    if (auto constant = dyn_cast<ConstantOp>(op))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue())
              .reshape(cast<ShapedType>(constant.getResult().getType())));
    for (Value operand : op.getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      auto from = dyn_cast_or_null<PlaceAttr>(type.getEncoding());
      if (!from) { // an argument that nobody used before
        placeValue(operand, place);
        continue;
      }
      if (from.getNode() != place.getNode() || from.getGpu() != place.getGpu())
        return op.emitOpError("runs at ")
               << place << " but its operand '" << nameOf(operand)
               << "' lies at " << from
               << "; transfers between devices cannot be made yet";
    }
  }
  for (BlockArgument argument : body.getArguments())
    if (!cast<RankedTensorType>(argument.getType()).getEncoding())
      placeValue(argument, PlaceAttr::get(func.getContext(), 0, 0, 0));
  func.setFunctionType(FunctionType::get(
      func.getContext(), body.getArgumentTypes(),
      llvm::to_vector(body.getTerminator()->getOperandTypes())));
  return success();
}

namespace {
struct Shard : lwcc::impl::ShardBase<Shard> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(placeFunction(func)))
        signalPassFailure();
  }
};
} // namespace

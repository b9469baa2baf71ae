//===- Family.cpp - What the files of operators share ---------------------===//
//
// The size rule (A1) of single ops, and helpers of gradients and tiles.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"
#include "ir/train/Elementwise.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

/// Rule A1 for the values of one op. It runs before the op's own verifier,
/// which multiplies and adds their extents.
LogicalResult lwcc::train::verifySizes(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || (elementCount(tensor.getShape()) &&
                    size_t(tensor.getRank()) <= maxTensorRank))
      return success();
    InFlightDiagnostic diag = op->emitOpError()
                              << "has a value of type " << type << ": ";
    if (tensor.hasStaticShape())
      return diag << "more than " << (maxBytes >> 40) << " TiB or "
                  << maxTensorRank << " dimensions";
    return diag << "an extent that is not known";
  };
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return check(parameter.getType());
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (failed(check(type)))
      return failure();
  return success();
}

Value family::throughRelu(OpBuilder &builder, Location loc, bool relu, Value dy,
                          Value y) {
  if (!relu)
    return dy;
  const ElementwiseFunction *row = findElementwise("relu");
  // The relu row's gradient reads dy (input 1) and y (input 2), not x.
  Expression gradient =
      instantiate(*row, row->gradients[0], nullptr)
          .substitute({Expression::inputOf(0), Expression::inputOf(0),
                       Expression::inputOf(1)});
  return buildMap(builder, loc, typeOf(dy), gradient, {dy, y});
}

Value family::sumToChannel(OpBuilder &builder, Location loc, Value value,
                           int64_t channel) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  axes.erase(axes.begin() + channel);
  return ReduceOp::create(
      builder, loc,
      tensorOf(builder.getContext(), {typeOf(value).getDimSize(channel)}),
      value, axes, /*mean=*/false);
}

Axes family::channelAxes(size_t rank) {
  if (rank == 4)
    return {n, c, h, w};
  Axes axes(rank, none);
  axes[0] = n;
  axes[1] = c;
  return axes;
}

Tile family::alikeTile(Operation *op, const Cuts &cuts, const Grid &index) {
  Value first = op->getOperand(0);
  Box region = cut(usualAxes(first), first, cuts, index);
  Tile tile;
  tile.operands.assign(op->getNumOperands(), region);
  tile.results.assign(op->getNumResults(), region);
  return tile;
}

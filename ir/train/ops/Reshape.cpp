//===- Reshape.cpp - Ops that rename elements -----------------------------===//
//
// Reshape, transpose and transfer: every element of the operand is one of the
// result, with other indices or in another place. A gradient undoes that.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType());
  auto to = cast<RankedTensorType>(getY().getType());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitOpError("changes ") << from << " to " << to;
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType());
  auto y = cast<RankedTensorType>(getY().getType());
  if (x.getNumElements() == y.getNumElements())
    return success();
  return emitOpError() << "gives " << y.getNumElements()
                       << " elements; expected " << x.getNumElements();
}

/// Whether a list names each of so many dimensions once.
static bool isPermutation(ArrayRef<int64_t> perm, int64_t rank) {
  Dims sorted(perm);
  llvm::sort(sorted);
  return llvm::equal(sorted, llvm::seq<int64_t>(0, rank));
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (!isPermutation(getPerm(), x.size()))
    return emitOpError() << "perm " << text(getPerm())
                         << " is no permutation of the " << x.size()
                         << " dimensions";
  Dims expected;
  for (int64_t dim : getPerm())
    expected.push_back(x[dim]);
  return expectShape(*this, "result", getY(), expected);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getY();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType() &&
      llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(inner.getPerm()[dim]);
    setPerm(perm);
    getXMutable().assign(inner.getX());
    return getY();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> ReshapeOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {
      ReshapeOp::create(builder, getLoc(), getX().getType(), resultGrads[0])};
}

SmallVector<Value> TransposeOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    inverse[dim] = i;
  return {TransposeOp::create(builder, getLoc(), getX().getType(),
                              resultGrads[0], inverse)};
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

Movement ReshapeOp::movement(const CallTypes &) {
  return {Movement::reshape, {}, {}, {}};
}

Movement TransposeOp::movement(const CallTypes &call) {
  Dims perm = listOf(call, "perm");
  if (!isPermutation(perm, call.operands[0].getRank()))
    return {};
  return {Movement::permute, perm, {}, {}};
}

Movement TransferOp::movement(const CallTypes &) {
  return {Movement::copy, {}, {}, {}};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// The units in which a reshape can be cut, so that a part of the operand
/// becomes a part of the result: samples, also where the other side has several
/// rows of each; within a sample the coarsest blocks that are contiguous on
/// both sides (the channels, where images become features); and channels, in
/// tensors of numbers per channel.
struct ReshapeUnits {
  Axes axes;
  Shape extents;
};
} // namespace

static ReshapeUnits reshapeUnits(ReshapeOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  if (x.empty() || y.empty())
    return {};
  if (x[0] == y[0] && isPerChannel(x) && isPerChannel(y))
    return {{c}, {x[0]}};
  if (x[0] != y[0]) {
    int64_t samples = std::min(x[0], y[0]);
    if (x[0] % samples || y[0] % samples)
      return {};
    return {{n}, {samples}};
  }
  int64_t channels = x.size() > 1 && y.size() > 1 ? std::min(x[1], y[1]) : 0;
  if (channels == 0 || x[1] % channels || y[1] % channels)
    channels = 1;
  return {{n, c}, {x[0], channels}};
}

Grid ReshapeOp::extents() {
  ReshapeUnits units = reshapeUnits(*this);
  return tiling::extentsAlong(units.axes, units.extents);
}

Tile ReshapeOp::tile(const Cuts &cuts, const Grid &index) {
  ReshapeUnits units = reshapeUnits(*this);
  Box part = tiling::cut(units.axes, units.extents, cuts, index);
  auto regionOf = [&](Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    Box region = wholeOf(value);
    for (size_t d = 0; d < std::min(part.size(), shape.size()); ++d) {
      // Only a dimension of whole units is cut.
      int64_t perUnit = shape[d] / units.extents[d];
      if (cuts.degrees[units.axes[d]] > 1)
        region[d] = {part[d].begin * perUnit, part[d].end * perUnit};
    }
    return region;
  };
  Tile tile;
  tile.operands = {regionOf(getX())};
  tile.results = {regionOf(getY())};
  return tile;
}

Tile TransposeOp::tile(const Cuts &cuts, const Grid &index) {
  Box out = cut(usualAxes(getY()), getY(), cuts, index), in = out;
  for (auto [axis, from] : llvm::zip_equal(out, getPerm()))
    in[from] = axis;
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

Grid TransposeOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }

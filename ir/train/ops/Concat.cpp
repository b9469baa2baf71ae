//===- Concat.cpp - Ops that join and cut along a dimension ---------------===//
//
// Concat and split: each is the gradient of the other. A tile needs those of
// the parts that lie in it.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  if (getXs().empty())
    return emitOpError() << "joins nothing; expected at least one operand";
  int64_t axis = getAxis();
  if (failed(expectAxis(*this, axis, getY())))
    return failure();
  ArrayRef<int64_t> y = shapeOf(getY());
  int64_t total = 0;
  for (auto [i, x] : llvm::enumerate(getXs())) {
    Dims expected(y);
    if (shapeOf(x).size() == y.size())
      expected[axis] = shapeOf(x)[axis];
    if (failed(expectShape(*this, "operand " + std::to_string(i), x, expected)))
      return failure();
    if (llvm::AddOverflow(total, expected[axis], total))
      return emitOpError() << "joins more than any tensor has";
  }
  Dims expected(y);
  expected[axis] = total;
  return expectShape(*this, "result", getY(), expected);
}

LogicalResult SplitOp::verify() {
  int64_t axis = getAxis();
  if (failed(expectAxis(*this, axis, getX())) ||
      failed(expectSize(*this, "sizes", getSizes(), getYs().size())))
    return failure();
  Dims expected(shapeOf(getX()));
  int64_t total = 0;
  for (auto [i, y] : llvm::enumerate(getYs())) {
    expected[axis] = getSizes()[i];
    if (failed(expectShape(*this, "result " + std::to_string(i), y, expected)))
      return failure();
    if (llvm::AddOverflow(total, expected[axis], total))
      return emitOpError() << "gives more than any tensor has";
  }
  if (total == shapeOf(getX())[axis])
    return success();
  return emitOpError() << "sizes sum to " << total << "; expected "
                       << shapeOf(getX())[axis];
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> ConcatOp::buildGradients(OpBuilder &builder,
                                            ArrayRef<Value> resultGrads,
                                            ArrayRef<bool> needed) {
  SmallVector<int64_t> sizes;
  for (Value x : getXs())
    sizes.push_back(typeOf(x).getDimSize(getAxis()));
  auto split = SplitOp::create(builder, getLoc(), getXs().getTypes(),
                               resultGrads[0], getAxis(), sizes);
  SmallVector<Value> grads(getNumOperands());
  for (auto [i, y] : llvm::enumerate(split.getYs()))
    if (needed[i])
      grads[i] = y;
  return grads;
}

SmallVector<Value> SplitOp::buildGradients(OpBuilder &builder,
                                           ArrayRef<Value> resultGrads,
                                           ArrayRef<bool> needed) {
  SmallVector<Value> parts;
  for (auto [y, grad] : llvm::zip_equal(getYs(), resultGrads))
    parts.push_back(grad ? grad
                         : FillOp::create(builder, getLoc(), y.getType(),
                                          llvm::APFloat(0.0f)));
  return {
      ConcatOp::create(builder, getLoc(), getX().getType(), parts, getAxis())};
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// The dimension that a concat or split works along, if the call has one that
/// fits the type.
static std::optional<int64_t> axisOf(const CallTypes &call,
                                     RankedTensorType type) {
  auto axis = dyn_cast_or_null<IntegerAttr>(call.field("axis"));
  if (!type || !axis || axis.getInt() < 0 || axis.getInt() >= type.getRank())
    return std::nullopt;
  return axis.getInt();
}

Movement SplitOp::movement(const CallTypes &call) {
  RankedTensorType whole = call.operands[0];
  std::optional<int64_t> axis = axisOf(call, whole);
  Dims sizes = listOf(call, "sizes");
  if (!axis || sizes.size() != call.results.size())
    return {};
  Dims begin(whole.getRank(), 0), shape(whole.getShape());
  Movement movement{Movement::parts, {}, Dims(whole.getRank(), 1), {}};
  int64_t &at = begin[*axis], all = whole.getDimSize(*axis);
  for (auto [type, size] : llvm::zip_equal(call.results, sizes)) {
    if (size < 0 || size > all - at)
      return {};
    shape[*axis] = size;
    if (type && (type.getShape() != ArrayRef(shape) ||
                 type.getElementType() != whole.getElementType()))
      return {};
    movement.begins.push_back(begin);
    at += size;
  }
  return at == all ? movement : Movement();
}

Movement ConcatOp::movement(const CallTypes &call) {
  RankedTensorType whole = call.results[0];
  std::optional<int64_t> axis = axisOf(call, whole);
  if (!axis)
    return {};
  Movement movement{Movement::join, {}, Dims(whole.getRank(), 1), {}};
  Dims begin(whole.getRank(), 0);
  for (RankedTensorType part : call.operands) {
    if (!part || part.getRank() != whole.getRank())
      return {};
    movement.begins.push_back(begin);
    begin[*axis] += part.getDimSize(*axis);
  }
  return movement;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The regions of `parts` that lie in a region of the tensor which they make
/// up, one behind the other along `axis`; no region for a part that lies
/// outside.
static SmallVector<std::optional<Box>, 4>
partsIn(const Box &region, ValueRange parts, int64_t axis) {
  SmallVector<std::optional<Box>, 4> regions;
  int64_t begin = 0;
  for (Value part : parts) {
    int64_t size = shapeOf(part)[axis];
    Box inside = region;
    inside[axis] = intersect(region[axis], {begin, begin + size});
    inside[axis].begin -= begin;
    inside[axis].end -= begin;
    regions.push_back(empty(inside) ? std::nullopt
                                    : std::optional<Box>(inside));
    begin += size;
  }
  return regions;
}

Tile ConcatOp::tile(const Cuts &cuts, const Grid &index) {
  Box part = cut(usualAxes(getY()), getY(), cuts, index);
  Tile tile;
  tile.operands = partsIn(part, getXs(), getAxis());
  tile.results = {part};
  return tile;
}

Tile SplitOp::tile(const Cuts &cuts, const Grid &index) {
  int64_t axis = getAxis();
  Box part = cut(usualAxes(getX()), getX(), cuts, index);
  Tile tile;
  tile.operands = {part};
  SmallVector<int64_t> sizes;
  for (std::optional<Box> &region : partsIn(part, getYs(), axis)) {
    if (region)
      sizes.push_back((*region)[axis].size());
    tile.results.push_back(std::move(region));
  }
  tile.attributes.set(getSizesAttrName(),
                      DenseI64ArrayAttr::get(getContext(), sizes));
  return tile;
}

Grid ConcatOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid SplitOp::extents() { return extentsAlong(usualAxes(getX()), getX()); }

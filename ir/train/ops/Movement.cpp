//===- Movement.cpp - Ops that move data ----------------------------------===//
//
// Reshape, transpose, concat, split, pad, slice, transfer and fill. A gradient
// undoes the movement; a tile needs what its part came from.
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

/// `part` is what a slice takes of `whole`.
static LogicalResult verifySlice(Operation *op, Value whole,
                                 ArrayRef<int64_t> start,
                                 ArrayRef<int64_t> step, Value part) {
  ArrayRef<int64_t> x = shapeOf(whole), y = shapeOf(part);
  if (failed(expectSize(op, "start", start, x.size())) ||
      failed(expectSize(op, "step", step, x.size())) ||
      failed(expectRank(op, "part", part, x.size())) ||
      failed(expectModest(op, "start", start)) ||
      failed(expectModest(op, "step", step)))
    return failure();
  for (auto [dim, extent] : llvm::enumerate(x)) {
    if (step[dim] == 0)
      return op->emitOpError() << "step is 0 along dimension " << dim;
    int64_t first = start[dim], reach = 0, last = 0;
    if (y[dim] == 0)
      continue;
    if (llvm::MulOverflow(y[dim] - 1, step[dim], reach) ||
        llvm::AddOverflow(first, reach, last))
      return op->emitOpError()
             << "takes " << y[dim] << " elements by steps of " << step[dim]
             << " of dimension " << dim << ", which has " << extent;
    if (std::min(first, last) < 0 || std::max(first, last) >= extent)
      return op->emitOpError()
             << "takes elements " << first << " to " << last << " of dimension "
             << dim << "; expected 0 to " << extent - 1;
  }
  return success();
}

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

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  Dims sorted(getPerm());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.size())))
    return emitOpError() << "perm " << text(getPerm())
                         << " is no permutation of the " << x.size()
                         << " dimensions";
  Dims expected;
  for (int64_t dim : getPerm())
    expected.push_back(x[dim]);
  return expectShape(*this, "result", getY(), expected);
}

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

LogicalResult PadOp::verify() {
  if (failed(expectSize(*this, "low", getLow(), shapeOf(getX()).size())) ||
      failed(expectModest(*this, "low", getLow())))
    return failure();
  return expectRank(*this, "result", getY(), shapeOf(getX()).size());
}

LogicalResult SliceOp::verify() {
  return verifySlice(*this, getX(), getStart(), getStep(), getY());
}

LogicalResult SliceGradOp::verify() {
  return verifySlice(*this, getDx(), getStart(), getStep(), getDy());
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

SmallVector<Value> PadOp::buildGradients(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         ArrayRef<bool> needed) {
  // x[i] lies at y[i + low]; where it was cropped the gradient is zero.
  SmallVector<int64_t> low;
  for (int64_t offset : getLow())
    low.push_back(-offset);
  return {PadOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                        low, llvm::APFloat(0.0f))};
}

SmallVector<Value> SliceOp::buildGradients(OpBuilder &builder,
                                           ArrayRef<Value> resultGrads,
                                           ArrayRef<bool> needed) {
  return {SliceGradOp::create(builder, getLoc(), getX().getType(),
                              resultGrads[0], getStart(), getStep())};
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// A list among the fields of a call, empty if there is none.
static Dims listOf(const CallTypes &call, StringRef name) {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(call.field(name));
  return list ? Dims(list.asArrayRef()) : Dims();
}

/// The dimension that a concat or split works along, if the call has one that
/// fits the type.
static std::optional<int64_t> axisOf(const CallTypes &call,
                                     RankedTensorType type) {
  auto axis = dyn_cast_or_null<IntegerAttr>(call.field("axis"));
  if (!type || !axis || axis.getInt() < 0 || axis.getInt() >= type.getRank())
    return std::nullopt;
  return axis.getInt();
}

Movement ReshapeOp::movement(const CallTypes &) {
  return {Movement::reshape, {}, {}, {}};
}

Movement TransposeOp::movement(const CallTypes &call) {
  return {Movement::permute, listOf(call, "perm"), {}, {}};
}

Movement TransferOp::movement(const CallTypes &) {
  return {Movement::copy, {}, {}, {}};
}

Movement SliceOp::movement(const CallTypes &call) {
  return {Movement::parts, {}, listOf(call, "step"), {listOf(call, "start")}};
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

/// A part of the result needs what of the operand lies in it, or, of a part
/// that is border alone, some element that lies outside.
Tile PadOp::tile(const Cuts &cuts, const Grid &index) {
  ArrayRef<int64_t> x = shapeOf(getX());
  Box out = cut(usualAxes(getY()), getY(), cuts, index), in;
  SmallVector<int64_t> low;
  for (auto [d, part] : llvm::enumerate(out)) {
    int64_t shift = getLow()[d], last = x[d] - 1;
    int64_t begin = std::clamp<int64_t>(part.begin - shift, 0, last);
    int64_t end = std::clamp<int64_t>(part.end - shift, begin + 1, x[d]);
    in.push_back({begin, end});
    low.push_back(begin + shift - part.begin);
  }
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  tile.attributes.set(getLowAttrName(),
                      DenseI64ArrayAttr::get(getContext(), low));
  return tile;
}

/// What a slice takes for a part of its result, from its first to its last
/// element; the attributes say where in this each lies.
template <typename OpT>
static Box takenRegion(OpT op, const Box &part, NamedAttrList &attributes) {
  Box taken;
  SmallVector<int64_t> start;
  for (auto [d, axis] : llvm::enumerate(part)) {
    int64_t step = op.getStep()[d];
    int64_t first = op.getStart()[d] + axis.begin * step;
    int64_t last = op.getStart()[d] + (axis.end - 1) * step;
    taken.push_back({std::min(first, last), std::max(first, last) + 1});
    start.push_back(first - taken.back().begin);
  }
  attributes.set(op.getStartAttrName(),
                 DenseI64ArrayAttr::get(op.getContext(), start));
  return taken;
}

Tile SliceOp::tile(const Cuts &cuts, const Grid &index) {
  Box out = cut(usualAxes(getY()), getY(), cuts, index);
  Tile tile;
  tile.results = {out};
  tile.operands = {takenRegion(*this, out, tile.attributes)};
  return tile;
}

/// What lies between the regions of the parts is zero.
Tile SliceGradOp::tile(const Cuts &cuts, const Grid &index) {
  Box in = cut(usualAxes(getDy()), getDy(), cuts, index);
  Tile tile;
  tile.operands = {in};
  tile.results = {takenRegion(*this, in, tile.attributes)};
  return tile;
}

/// The parts of `parts`, which lie one behind the other in a tensor along
/// `axis`, that lie in a region of it; none where that is empty.
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

namespace {
/// What a part of a reshape's result is a part of its operand along: samples,
/// and as much of what follows them as lies together on both sides (channels,
/// where images become features); of numbers per channel, the channels.
struct ReshapeUnits {
  Axes axes;
  Shape extents;
};
} // namespace
static ReshapeUnits reshapeUnits(ReshapeOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  if (x.empty() || y.empty() || x[0] != y[0])
    return {};
  if (isPerChannel(x) && isPerChannel(y))
    return {{c}, {x[0]}};
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
      // A dimension that is no whole number of units is not cut.
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
Grid ConcatOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid PadOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid SliceOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid SplitOp::extents() { return extentsAlong(usualAxes(getX()), getX()); }
Grid SliceGradOp::extents() {
  return extentsAlong(usualAxes(getDy()), getDy());
}

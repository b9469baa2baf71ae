//===- Slice.cpp - Ops that take a region, or add a border ----------------===//
//
// Pad, slice and slice's gradient. A tile needs the region that its part was
// taken from; its attributes say where in this region the part lies.
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

/// Checks that `part` is what a slice with this start and step takes of
/// `whole`.
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
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> PadOp::buildGradients(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         ArrayRef<bool> needed) {
  // x[i] became y[i + low]; the gradient of cropped elements is zero.
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

Movement SliceOp::movement(const CallTypes &call) {
  return {Movement::parts, {}, listOf(call, "step"), {listOf(call, "start")}};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// A tile reads the part of the operand that lies in its region. A region that
/// is all border reads one element, which falls outside of it.
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

/// The region of the operand from the first to the last element that a part of
/// a slice's result takes. Sets the attribute that says where in this region
/// the slice starts.
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

/// A tile makes the region between its first and last element. Regions of
/// different tiles may have elements between them that no tile makes: these are
/// zero (Pieces.h).
Tile SliceGradOp::tile(const Cuts &cuts, const Grid &index) {
  Box in = cut(usualAxes(getDy()), getDy(), cuts, index);
  Tile tile;
  tile.operands = {in};
  tile.results = {takenRegion(*this, in, tile.attributes)};
  return tile;
}

Grid PadOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid SliceOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }
Grid SliceGradOp::extents() {
  return extentsAlong(usualAxes(getDy()), getDy());
}

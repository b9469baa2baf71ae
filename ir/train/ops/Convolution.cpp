//===- Convolution.cpp - Convolutions and their gradients -----------------===//
//
// Two-dimensional convolution as in ONNX Conv, and its two gradients. Cut along
// n, c (output channels), h, w, and k (input channels, if there is one group).
// The gradient of a fused ReLU reads the result (throughRelu).
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Windows.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::verify() {
  if (failed(expectRank(*this, "input", getX(), 4)) ||
      failed(expectRank(*this, "weights", getW(), 4)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), w = shapeOf(getW());
  Windows windows{w.drop_front(2), getDilation(), getPad(), getStride()};
  if (failed(windows.check(*this)))
    return failure();
  int64_t group = getGroup();
  if (group <= 0 || x[1] % group || w[0] % group || w[1] != x[1] / group)
    return emitOpError() << "weights " << text(w) << " in " << group
                         << " groups do not fit an input of " << x[1]
                         << " channels";
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {w[0]})))
    return failure();
  return expectShape(*this, "result", getY(),
                     {x[0], w[0], windows.positions(0, x[2], false),
                      windows.positions(1, x[3], false)});
}

LogicalResult ConvGradInputOp::verify() {
  if (failed(expectRank(*this, "weights", getW(), 4)) ||
      failed(expectRank(*this, "result", getDx(), 4)))
    return failure();
  return verifyGradient(*this, shapeOf(getW()).drop_front(2));
}

LogicalResult ConvGradWeightOp::verify() {
  if (failed(expectRank(*this, "input", getX(), 4)) ||
      failed(expectRank(*this, "result", getDw(), 4)))
    return failure();
  return verifyGradient(*this, shapeOf(getDw()).drop_front(2));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

SmallVector<Value> ConvOp::buildGradients(OpBuilder &builder,
                                          ArrayRef<Value> resultGrads,
                                          ArrayRef<bool> needed) {
  Value dy = throughRelu(builder, getLoc(), getRelu(), resultGrads[0], getY());
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = ConvGradInputOp::create(builder, getLoc(), getX().getType(), dy,
                                       getW(), getDilation(), getGroup(),
                                       getPad(), getStride());
  bool bias = getBias() && needed[2];
  if (needed[1]) {
    auto gradWeight = ConvGradWeightOp::create(
        builder, getLoc(), getW().getType(),
        bias ? getBias().getType() : Type(), dy, getX(), getDilation(),
        getGroup(), getPad(), getStride());
    grads[1] = gradWeight.getDw();
    if (bias)
      grads[2] = gradWeight.getDbias();
  } else if (bias) {
    grads[2] = sumToChannel(builder, getLoc(), dy, 1);
  }
  return grads;
}

/// The transposed convolution y = convT(x, w) is linear in both: the gradient
/// of x is a convolution, and that of w is what it would be if x were the
/// gradient of a convolution of dy.
SmallVector<Value> ConvGradInputOp::buildGradients(OpBuilder &builder,
                                                   ArrayRef<Value> resultGrads,
                                                   ArrayRef<bool> needed) {
  Value dy = resultGrads[0];
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = ConvOp::create(builder, getLoc(), getDy().getType(), dy, getW(),
                              Value(), getDilation(), getGroup(), getPad(),
                              getStride());
  if (needed[1])
    grads[1] = ConvGradWeightOp::create(builder, getLoc(), getW().getType(),
                                        Type(), getDy(), dy, getDilation(),
                                        getGroup(), getPad(), getStride())
                   .getDw();
  return grads;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// The tensors of a convolution or of one of its gradients, by their part in y
/// = conv(x, w).
struct ConvTensors {
  Value x, w, y; ///< or their gradients
};
} // namespace
static ConvTensors tensorsOf(ConvOp op) {
  return {op.getX(), op.getW(), op.getY()};
}
static ConvTensors tensorsOf(ConvGradInputOp op) {
  return {op.getDx(), op.getW(), op.getDy()};
}
static ConvTensors tensorsOf(ConvGradWeightOp op) {
  return {op.getX(), op.getDw(), op.getDy()};
}

/// With several groups input channels are not cut: those of one part would be
/// of other groups, and add to other outputs.
template <typename OpT>
static Grid extentsOf(OpT op) {
  ConvTensors tensors = tensorsOf(op);
  Grid extents = extentsAlong({n, c, h, w}, tensors.y);
  if (op.getGroup() == 1)
    extents[k] = shapeOf(tensors.w)[1];
  return extents;
}

/// Whether each part of the output channels is a number of whole groups or lies
/// in one group.
static bool groupsAllow(int64_t channels, int64_t groups, const Cuts &cuts) {
  int64_t perGroup = channels / groups;
  for (int64_t i = 0; i < cuts.degrees[c]; ++i) {
    Interval part = cuts.part(c, channels, i);
    bool wholeGroups = part.begin % perGroup == 0 && part.end % perGroup == 0;
    if (!wholeGroups && part.begin / perGroup != (part.end - 1) / perGroup)
      return false;
  }
  return true;
}

/// Whether a tile's windows cover nothing but padding. A tile must read some
/// input, since there is no operator on an empty region.
static bool looksAtPaddingAlone(const Window &w, Interval out) {
  int64_t first = out.begin * w.stride - w.padLow;
  int64_t end =
      (out.end - 1) * w.stride - w.padLow + (w.kernel - 1) * w.dilation + 1;
  return intersect({first, end}, {0, w.extent}).empty();
}

/// Whether every part of height or width reads some input.
template <typename OpT>
static bool windowsAllow(OpT op, const Cuts &cuts, int dim) {
  ConvTensors tensors = tensorsOf(op);
  ArrayRef<int64_t> weight = shapeOf(tensors.w);
  Window window =
      windowOf(op, shapeOf(tensors.x), {weight[2], weight[3]}, dim - h);
  int64_t outputs = shapeOf(tensors.y)[dim];
  for (int64_t i = 0; i < cuts.degrees[dim]; ++i)
    if (looksAtPaddingAlone(window, cuts.part(dim, outputs, i)))
      return false;
  return true;
}

template <typename OpT>
static bool allowsCut(OpT op, const Cuts &cuts, int dim) {
  if (dim == c)
    return groupsAllow(shapeOf(tensorsOf(op).y)[1], op.getGroup(), cuts);
  return (dim != h && dim != w) || windowsAllow(op, cuts, dim);
}

namespace {
/// The regions of x, w and y (or of their gradients) that a tile reads and
/// makes.
struct ConvRegions {
  Box x, w, y;
};
} // namespace
template <typename OpT>
static ConvRegions convRegions(OpT op, const Cuts &cuts, const Grid &index,
                               Tile &tile) {
  ConvTensors tensors = tensorsOf(op);
  ArrayRef<int64_t> x = shapeOf(tensors.x), weight = shapeOf(tensors.w);
  ConvRegions r;
  r.y = cut({n, c, h, w}, tensors.y, cuts, index);
  r.w = wholeOf(tensors.w);
  r.w[0] = r.y[1];
  Patch patch = patchOf(op, x, {weight[2], weight[3]}, r.y, cuts);
  setPad(tile, op, patch);
  // The input channels of the groups to which the tile's output channels
  // belong.
  int64_t groups = op.getGroup(), perGroup = weight[0] / groups;
  int64_t first = r.y[1].begin / perGroup;
  int64_t last = (r.y[1].end + perGroup - 1) / perGroup;
  r.x = {
      r.y[0], {first * weight[1], last * weight[1]}, patch.in[0], patch.in[1]};
  if (cuts.degrees[k] > 1)
    r.x[1] = r.w[1] = cuts.part(k, weight[1], index[k]);
  if (last - first != groups)
    tile.attributes.set(
        op.getGroupAttrName(),
        IntegerAttr::get(IntegerType::get(op.getContext(), 64), last - first));
  return r;
}

Grid ConvOp::extents() { return extentsOf(*this); }
Grid ConvGradInputOp::extents() { return extentsOf(*this); }
Grid ConvGradWeightOp::extents() { return extentsOf(*this); }

bool ConvOp::allows(const Cuts &cuts, int dim) {
  return allowsCut(*this, cuts, dim);
}
bool ConvGradInputOp::allows(const Cuts &cuts, int dim) {
  return allowsCut(*this, cuts, dim);
}
bool ConvGradWeightOp::allows(const Cuts &cuts, int dim) {
  return allowsCut(*this, cuts, dim);
}

Tile ConvOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(*this, cuts, index, tile);
  tile.operands = {r.x, r.w};
  if (getBias())
    tile.operands.push_back(onFirst(Box{r.y[1]}, index[k]));
  tile.results = {r.y};
  return tile;
}

Tile ConvGradInputOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(*this, cuts, index, tile);
  tile.operands = {r.y, r.w};
  tile.results = {r.x};
  return tile;
}

Tile ConvGradWeightOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(*this, cuts, index, tile);
  tile.operands = {r.y, r.x};
  tile.results = {r.w};
  if (getDbias())
    tile.results.push_back(onFirst(Box{r.y[1]}, index[k]));
  return tile;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Positions of images [n, c, h, w], over all samples.
static double positions(const std::optional<Box> &images) {
  return volume(images) / extent(images, 1);
}

/// Taps of weights [o, i, y, x]: the terms of the sum at one position.
static double taps(const std::optional<Box> &weights) {
  return volume(weights) / extent(weights, 0);
}

Arithmetic ConvOp::arithmetic(const CallShape &call) {
  const auto &y = call.results[0], &w = call.operands[1];
  return Arithmetic::product(positions(y), extent(y, 1), taps(w));
}

Arithmetic ConvGradInputOp::arithmetic(const CallShape &call) {
  const auto &dy = call.operands[0], &w = call.operands[1];
  // The sum of this gradient is over output channels, so the product has other
  // extents than ConvOp's.
  Arithmetic work = Arithmetic::product(positions(dy), taps(w), extent(w, 0));
  work.flops *= extent(dy, 1) / extent(w, 0);
  return work;
}

Arithmetic ConvGradWeightOp::arithmetic(const CallShape &call) {
  const auto &dw = call.results[0], &dy = call.operands[0];
  return Arithmetic::product(extent(dw, 0), taps(dw), positions(dy));
}

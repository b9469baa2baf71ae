//===- ConvRules.cpp - Tiles of convolutions and pooling ------------------===//

#include "passes/shard/OpRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Height and width of the input of a tile, and the tile's padding.
struct Patch {
  std::array<Interval, 2> in;
  std::array<int64_t, 4> pad; ///< top, left, bottom, right
};

/// Along height (0) or width (1) of an input.
template <typename OpT>
static Window windowOf(OpT op, const Shape &in, std::array<int64_t, 2> kernel,
                       int d) {
  return {.extent = in[2 + d],
          .kernel = kernel[d],
          .stride = op.getStride()[d],
          .dilation = op.getDilation()[d],
          .padLow = op.getPad()[d],
          .padHigh = op.getPad()[2 + d]};
}

/// `out` is the tile of a windowed op's output. An axis that is not cut keeps
/// all of its input, also what no window looks at.
template <typename OpT>
static Patch patchOf(OpT op, const Shape &in, std::array<int64_t, 2> kernel,
                     const Box &out, const Cuts &cuts) {
  Patch patch;
  for (int d = 0; d < 2; ++d) {
    patch.in[d] = {0, in[2 + d]};
    patch.pad[d] = op.getPad()[d];
    patch.pad[2 + d] = op.getPad()[2 + d];
    if (cuts.degrees[h + d] == 1)
      continue;
    WindowPart part = inputOf(windowOf(op, in, kernel, d), out[2 + d]);
    patch.in[d] = part.in;
    patch.pad[d] = part.padLow;
    patch.pad[2 + d] = part.padHigh;
  }
  return patch;
}

template <typename OpT>
static void setPad(Tile &tile, OpT op, const Patch &patch) {
  if (!llvm::equal(op.getPad(), patch.pad))
    tile.attributes.set(op.getPadAttrName(),
                        DenseI64ArrayAttr::get(op.getContext(), patch.pad));
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// Whether parts of the output channels are whole groups or lie in one each.
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

/// The tensors of a convolution or of one of its gradients.
struct ConvTensors {
  Value x, w, y; ///< or their gradients
};
static ConvTensors tensorsOf(ConvOp op) {
  return {op.getX(), op.getW(), op.getY()};
}
static ConvTensors tensorsOf(ConvGradInputOp op) {
  return {op.getDx(), op.getW(), op.getDy()};
}
static ConvTensors tensorsOf(ConvGradWeightOp op) {
  return {op.getX(), op.getDw(), op.getDy()};
}

/// The input channels of several groups belong to different outputs: their sum
/// is not cut.
template <typename OpT>
static Grid extentsOf(OpT op) {
  ConvTensors tensors = tensorsOf(op);
  Grid extents = extentsAlong({n, c, h, w}, shapeOf(tensors.y));
  if (op.getGroup() == 1)
    extents[k] = shapeOf(tensors.w)[1];
  return extents;
}

Grid shard::extentsOfConv(Operation *convolution) {
  return TypeSwitch<Operation *, Grid>(convolution)
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>(
          [](auto op) { return ::extentsOf(op); });
}

bool shard::groupsAllow(Operation *convolution, const Cuts &cuts) {
  return TypeSwitch<Operation *, bool>(convolution)
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>([&](auto op) {
        return ::groupsAllow(shapeOf(tensorsOf(op).y)[1], op.getGroup(), cuts);
      })
      .Default([](Operation *) { return true; });
}

/// Whether a tile has nothing to look at but padding, which is as wide as the
/// window then. No operator on a part of the input can do that.
static bool looksAtPaddingAlone(const Window &w, Interval out) {
  int64_t first = out.begin * w.stride - w.padLow;
  int64_t end =
      (out.end - 1) * w.stride - w.padLow + (w.kernel - 1) * w.dilation + 1;
  return intersect({first, end}, {0, w.extent}).empty();
}

bool shard::windowsAllow(Operation *convolution, const Cuts &cuts, int dim) {
  return TypeSwitch<Operation *, bool>(convolution)
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>([&](auto op) {
        ConvTensors tensors = tensorsOf(op);
        Shape weight = shapeOf(tensors.w);
        Window window =
            windowOf(op, shapeOf(tensors.x), {weight[2], weight[3]}, dim - h);
        int64_t outputs = shapeOf(tensors.y)[dim];
        for (int64_t i = 0; i < cuts.degrees[dim]; ++i)
          if (looksAtPaddingAlone(window, cuts.part(dim, outputs, i)))
            return false;
        return true;
      })
      .Default([](Operation *) { return true; });
}

/// The regions of x, w and y (or of their gradients) of a tile.
struct ConvRegions {
  Box x, w, y;
};
template <typename OpT>
static ConvRegions convRegions(OpT op, const Cuts &cuts, const Grid &index,
                               Tile &tile) {
  ConvTensors tensors = tensorsOf(op);
  Shape x = shapeOf(tensors.x), weight = shapeOf(tensors.w);
  ConvRegions r;
  r.y = cut({n, c, h, w}, shapeOf(tensors.y), cuts, index);
  r.w = wholeOf(weight);
  r.w[0] = r.y[1];
  Patch patch = patchOf(op, x, {weight[2], weight[3]}, r.y, cuts);
  setPad(tile, op, patch);
  // The groups that the output channels belong to, and their input channels.
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

static Tile tileOf(ConvOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, cuts, index, tile);
  tile.operands = {r.x, r.w};
  if (op.getBias())
    tile.operands.push_back(onFirst(Box{r.y[1]}, index[k]));
  tile.results = {r.y};
  return tile;
}
static Tile tileOf(ConvGradInputOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, cuts, index, tile);
  tile.operands = {r.y, r.w};
  tile.results = {r.x};
  return tile;
}
static Tile tileOf(ConvGradWeightOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, cuts, index, tile);
  tile.operands = {r.y, r.x};
  tile.results = {r.w};
  if (op.getDbias())
    tile.results.push_back(onFirst(Box{r.y[1]}, index[k]));
  return tile;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// Forward or backward: `x` and `y` are the input and the output or their
/// gradients.
template <typename OpT>
static Tile poolTile(OpT op, Value x, Value y, const Cuts &cuts,
                     const Grid &index, bool forward) {
  Tile tile;
  Box out = cut({n, c, h, w}, shapeOf(y), cuts, index);
  Patch patch = patchOf(op, shapeOf(x), {op.getKernel()[0], op.getKernel()[1]},
                        out, cuts);
  setPad(tile, op, patch);
  Box in = {out[0], out[1], patch.in[0], patch.in[1]};
  tile.operands.assign(op->getNumOperands(), forward ? in : out);
  tile.results.assign(op->getNumResults(), forward ? out : in);
  return tile;
}

Tile shard::tileOfWindowed(Operation *op, const Cuts &cuts, const Grid &index) {
  return TypeSwitch<Operation *, Tile>(op)
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>(
          [&](auto op) { return ::tileOf(op, cuts, index); })
      .Case<MaxPoolOp, AvgPoolOp>([&](auto op) {
        return poolTile(op, op.getX(), op.getY(), cuts, index, true);
      })
      .Case<MaxPoolGradOp, AvgPoolGradOp>([&](auto op) {
        return poolTile(op, op.getDx(), op.getDy(), cuts, index, false);
      });
}

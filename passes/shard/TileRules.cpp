//===- TileRules.cpp - How an op is cut into tiles ------------------------===//
//
// Each rule knows the layer's dimension, if any, of every axis of every tensor
// of its op. A reduced dimension of a gradient (the samples, in a weight's) is
// cut like any other: its tiles make the same region, and so a sum.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/TileRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

/// The layer's dimensions; `none` marks an axis that is never cut.
enum Dim { n, c, h, w, none };

/// The dimension of each axis of a tensor.
using Axes = SmallVector<int, 4>;

static constexpr Grid whole = {1, 1, 1, 1};

Shape shard::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().vec();
}

/// Images are [n, c, h, w], features [n, c], vectors per channel.
static Axes usualAxes(size_t rank) {
  switch (rank) {
  case 1:
    return {c};
  case 2:
    return {n, c};
  case 4:
    return {n, c, h, w};
  default: {
    Axes axes(rank, none);
    if (rank > 0)
      axes[0] = n;
    return axes;
  }
  }
}

/// What is normalized per channel has at least samples and channels.
static Axes normalizedAxes(size_t rank) {
  if (rank == 4)
    return usualAxes(rank);
  Axes axes(rank, none);
  axes[0] = n;
  axes[1] = c;
  return axes;
}

/// The layer's degrees, but 1 where `axes` lack a dimension or are too short.
static Grid degreesAlong(const Axes &axes, const Shape &shape,
                         const Grid &layer) {
  Grid degrees = whole;
  for (auto [axis, extent] : llvm::zip_equal(axes, shape))
    if (axis != none && extent >= layer[axis])
      degrees[axis] = layer[axis];
  return degrees;
}

static Box cut(const Axes &axes, const Shape &shape, const Grid &degrees,
               const Grid &index) {
  Box region = wholeOf(shape);
  for (auto [d, axis] : llvm::enumerate(axes))
    if (axis != none)
      region[d] = partOf(shape[d], degrees[axis], index[axis]);
  return region;
}

/// What an operand that is broadcast to a result needs for a region of it.
static Box broadcastRegion(const Box &result, const Shape &operand) {
  Box region = wholeOf(operand);
  for (size_t d = 0; d < operand.size(); ++d)
    if (operand[d] != 1)
      region[d] = result[result.size() - operand.size() + d];
  return region;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Height and width of the input of a tile, and the tile's padding.
struct Patch {
  std::array<Interval, 2> in;
  std::array<int64_t, 4> pad; ///< top, left, bottom, right
};

/// `out` is the tile of a windowed op's output. An axis that is not cut keeps
/// all of its input, also what no window looks at.
template <typename OpT>
static Patch patchOf(OpT op, const Shape &in, std::array<int64_t, 2> kernel,
                     const Box &out, const Grid &degrees) {
  Patch patch;
  for (int d = 0; d < 2; ++d) {
    patch.in[d] = {0, in[2 + d]};
    patch.pad[d] = op.getPad()[d];
    patch.pad[2 + d] = op.getPad()[2 + d];
    if (degrees[h + d] == 1)
      continue;
    WindowPart part = inputOf({.extent = in[2 + d],
                               .kernel = kernel[d],
                               .stride = op.getStride()[d],
                               .dilation = op.getDilation()[d],
                               .padLow = op.getPad()[d],
                               .padHigh = op.getPad()[2 + d]},
                              out[2 + d]);
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
static bool channelsCanBeCut(int64_t channels, int64_t groups, int64_t parts) {
  return groups % parts == 0 || (parts % groups == 0 && channels % parts == 0);
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

template <typename OpT>
static Grid convDegrees(OpT op, const Grid &layer) {
  Shape y = shapeOf(tensorsOf(op).y);
  Grid degrees = degreesAlong({n, c, h, w}, y, layer);
  if (!channelsCanBeCut(y[1], op.getGroup(), degrees[c]))
    degrees[c] = 1;
  return degrees;
}

/// The regions of x, w and y (or of their gradients) of a tile.
struct ConvRegions {
  Box x, w, y;
};
template <typename OpT>
static ConvRegions convRegions(OpT op, const Grid &degrees, const Grid &index,
                               Tile &tile) {
  ConvTensors tensors = tensorsOf(op);
  Shape x = shapeOf(tensors.x), weight = shapeOf(tensors.w);
  ConvRegions r;
  r.y = cut({n, c, h, w}, shapeOf(tensors.y), degrees, index);
  r.w = wholeOf(weight);
  r.w[0] = r.y[1];
  Patch patch = patchOf(op, x, {weight[2], weight[3]}, r.y, degrees);
  setPad(tile, op, patch);
  // The groups that the output channels belong to, and their input channels.
  int64_t groups = op.getGroup(), perGroup = weight[0] / groups;
  int64_t first = r.y[1].begin / perGroup;
  int64_t last = (r.y[1].end + perGroup - 1) / perGroup;
  r.x = {
      r.y[0], {first * weight[1], last * weight[1]}, patch.in[0], patch.in[1]};
  if (last - first != groups)
    tile.attributes.set(
        op.getGroupAttrName(),
        IntegerAttr::get(IntegerType::get(op.getContext(), 64), last - first));
  return r;
}

static Tile tileOf(ConvOp op, const Grid &degrees, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, degrees, index, tile);
  tile.operands = {r.x, r.w};
  if (op.getBias())
    tile.operands.push_back({r.y[1]});
  tile.results = {r.y};
  return tile;
}
static Tile tileOf(ConvGradInputOp op, const Grid &degrees, const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, degrees, index, tile);
  tile.operands = {r.y, r.w};
  tile.results = {r.x};
  return tile;
}
static Tile tileOf(ConvGradWeightOp op, const Grid &degrees,
                   const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, degrees, index, tile);
  tile.operands = {r.y, r.x};
  tile.results = {r.w};
  if (op.getDbias())
    tile.results.push_back({r.y[1]});
  return tile;
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

/// The layer's dimensions of m, n and k of op(a) [m, k] * op(b) [k, n].
static std::array<int, 3> productDims(MatMulOp op) {
  std::array<int, 3> dims = {none, none, none};
  if (cast<RankedTensorType>(op.getC().getType()).getRank() != 2)
    return dims;
  auto axes = op->getAttrOfType<StringAttr>(axesAttr);
  StringRef text = axes ? axes.getValue() : "nc-";
  for (int i = 0; i < 3; ++i)
    dims[i] = text[i] == 'n' ? n : text[i] == 'c' ? c : none;
  return dims;
}

static Shape productExtents(MatMulOp op) {
  Shape result = shapeOf(op.getC()), a = shapeOf(op.getA());
  return {result[result.size() - 2], result.back(),
          op.getTransposeA() ? a[a.size() - 2] : a.back()};
}

static Grid degreesOf(MatMulOp op, const Grid &layer) {
  auto dims = productDims(op);
  return degreesAlong(Axes(dims.begin(), dims.end()), productExtents(op),
                      layer);
}

static Tile tileOf(MatMulOp op, const Grid &degrees, const Grid &index) {
  Tile tile;
  auto dims = productDims(op);
  Box part =
      cut(Axes(dims.begin(), dims.end()), productExtents(op), degrees, index);
  Interval rows = part[0], columns = part[1], inner = part[2];
  auto matrix = [](Interval first, Interval second, bool transposed) {
    return transposed ? Box{second, first} : Box{first, second};
  };
  tile.operands = {matrix(rows, inner, op.getTransposeA()),
                   matrix(inner, columns, op.getTransposeB())};
  if (op.getBias())
    tile.operands.push_back({columns});
  tile.results = {{rows, columns}};
  return tile;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// Forward or backward: `x` and `y` are the input and the output or their
/// gradients.
template <typename OpT>
static Tile poolTile(OpT op, Value x, Value y, const Grid &degrees,
                     const Grid &index, bool forward) {
  Tile tile;
  Box out = cut({n, c, h, w}, shapeOf(y), degrees, index);
  Patch patch = patchOf(op, shapeOf(x), {op.getKernel()[0], op.getKernel()[1]},
                        out, degrees);
  setPad(tile, op, patch);
  Box in = {out[0], out[1], patch.in[0], patch.in[1]};
  tile.operands.assign(op->getNumOperands(), forward ? in : out);
  tile.results.assign(op->getNumResults(), forward ? out : in);
  return tile;
}

//===----------------------------------------------------------------------===//
// Reductions and data movement
//===----------------------------------------------------------------------===//

/// The dimensions of a reduction's operand. A mean is not a sum of means: what
/// it reduces is not cut.
static Axes axesOf(ReduceOp op) {
  Axes axes = usualAxes(shapeOf(op.getX()).size());
  if (op.getMean())
    for (int64_t axis : op.getAxes())
      axes[axis] = none;
  return axes;
}

static Tile tileOf(ReduceOp op, const Grid &degrees, const Grid &index) {
  Shape x = shapeOf(op.getX());
  Box in = cut(axesOf(op), x, degrees, index), out;
  bool kept = shapeOf(op.getY()).size() == x.size();
  for (auto [d, axis] : llvm::enumerate(in))
    if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(d)))
      out.push_back(axis);
    else if (kept)
      out.push_back({0, 1});
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

/// Whether an op that moves data leaves the first dimension alone, so that a
/// part of the samples comes from the same part.
static bool keepsSamples(Operation *op) {
  auto samples = [](Value value) {
    Shape shape = shapeOf(value);
    return shape.empty() ? -1 : shape[0];
  };
  for (Value value : op->getOperands())
    if (samples(value) != samples(op->getResult(0)) || samples(value) < 0)
      return false;
  return TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp>([](auto) { return true; })
      .Case<TransposeOp>([](auto op) { return op.getPerm()[0] == 0; })
      .Case<ConcatOp, SplitOp>([](auto op) { return op.getAxis() != 0; })
      .Case<PadOp>([](auto op) { return op.getLow()[0] == 0; })
      .Case<SliceOp, SliceGradOp>(
          [](auto op) { return op.getStart()[0] == 0 && op.getStep()[0] == 1; })
      .Default([](Operation *) { return false; });
}

/// All tensors cut alike along the samples.
static Tile sampleTile(Operation *op, const Grid &degrees, const Grid &index) {
  auto part = [&](Value value) {
    Shape shape = shapeOf(value);
    Axes axes(shape.size(), none);
    if (!axes.empty() && degrees[n] > 1)
      axes[0] = n;
    return cut(axes, shape, degrees, index);
  };
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(part(operand));
  for (Value result : op->getResults())
    tile.results.push_back(part(result));
  return tile;
}

static Grid sampleDegrees(Operation *op, const Grid &layer) {
  Grid degrees = whole;
  if (keepsSamples(op) && shapeOf(op->getResult(0))[0] >= layer[n])
    degrees[n] = layer[n];
  return degrees;
}

static Tile tileOf(MapOp op, const Grid &degrees, const Grid &index) {
  Tile tile;
  Shape shape = shapeOf(op.getY());
  Box out = cut(usualAxes(shape.size()), shape, degrees, index);
  for (Value input : op.getInputs())
    tile.operands.push_back(broadcastRegion(out, shapeOf(input)));
  if (op.getScalars())
    tile.operands.push_back(wholeOf(shapeOf(op.getScalars())));
  tile.results = {out};
  return tile;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

Grid shard::degreesOf(Operation *op, const Grid &layer) {
  auto along = [&](Value value, Axes axes) {
    return degreesAlong(axes, shapeOf(value), layer);
  };
  return TypeSwitch<Operation *, Grid>(op)
      .Case<MapOp>([&](MapOp op) {
        return along(op.getY(), usualAxes(shapeOf(op.getY()).size()));
      })
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>(
          [&](auto op) { return convDegrees(op, layer); })
      .Case<MatMulOp>([&](MatMulOp op) { return ::degreesOf(op, layer); })
      .Case<MaxPoolOp, AvgPoolOp>(
          [&](auto op) { return along(op.getY(), {n, c, h, w}); })
      .Case<MaxPoolGradOp, AvgPoolGradOp>(
          [&](auto op) { return along(op.getDy(), {n, c, h, w}); })
      .Case<BatchNormStatsOp, BatchNormGradStatsOp>([&](auto op) {
        Value x = op->getOperand(0);
        return along(x, normalizedAxes(shapeOf(x).size()));
      })
      .Case<LrnOp, LrnGradOp>(
          [&](auto op) { return along(op.getX(), {n, none, h, w}); })
      .Case<SoftmaxOp, SoftmaxGradOp>([&](auto op) {
        Axes axes = usualAxes(shapeOf(op->getOperand(0)).size());
        axes[op.getAxis()] = none;
        return along(op->getOperand(0), axes);
      })
      .Case<ReduceOp>([&](ReduceOp op) { return along(op.getX(), axesOf(op)); })
      .Case<ReshapeOp, TransposeOp, ConcatOp, SplitOp, PadOp, SliceOp,
            SliceGradOp>([&](auto op) { return sampleDegrees(op, layer); })
      .Default([](Operation *) { return whole; });
}

Tile shard::tileOf(Operation *op, const Grid &degrees, const Grid &index) {
  if (degrees == whole)
    return sampleTile(op, degrees, index);
  /// Every tensor has the same shape and is cut like it.
  auto alike = [&] {
    Tile tile;
    Shape shape = shapeOf(op->getOperand(0));
    Box region = cut(usualAxes(shape.size()), shape, degrees, index);
    tile.operands.assign(op->getNumOperands(), region);
    tile.results.assign(op->getNumResults(), region);
    return tile;
  };
  return TypeSwitch<Operation *, Tile>(op)
      .Case<MapOp, ConvOp, ConvGradInputOp, ConvGradWeightOp, MatMulOp,
            ReduceOp>([&](auto op) { return ::tileOf(op, degrees, index); })
      .Case<MaxPoolOp, AvgPoolOp>([&](auto op) {
        return poolTile(op, op.getX(), op.getY(), degrees, index, true);
      })
      .Case<MaxPoolGradOp, AvgPoolGradOp>([&](auto op) {
        return poolTile(op, op.getDx(), op.getDy(), degrees, index, false);
      })
      .Case<LrnOp, LrnGradOp, SoftmaxOp, SoftmaxGradOp>(
          [&](auto) { return alike(); })
      .Case<BatchNormStatsOp, BatchNormGradStatsOp>([&](auto op) {
        // Images and, per channel, what is known or found of them.
        Shape shape = shapeOf(op->getOperand(0));
        Box box = cut(normalizedAxes(shape.size()), shape, degrees, index);
        Tile tile;
        for (Value operand : op->getOperands())
          tile.operands.push_back(shapeOf(operand).size() == 1 ? Box{box[1]}
                                                               : box);
        tile.results.assign(op->getNumResults(), Box{box[1]});
        return tile;
      })
      .Default([&](Operation *op) { return sampleTile(op, degrees, index); });
}

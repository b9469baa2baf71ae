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
enum Dim { n, c, h, w, k, none };

/// The dimension of each axis of a tensor.
using Axes = SmallVector<int, 4>;

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

Interval Cuts::part(int dim, int64_t extent, int64_t index) const {
  return sizes[dim].empty() ? partOf(extent, degrees[dim], index)
                            : partOf(extent, sizes[dim], index);
}

bool Cuts::fit(int dim, int64_t extent) const {
  for (int64_t i = 0; i < degrees[dim]; ++i)
    if (part(dim, extent, i).empty())
      return false;
  return true;
}

Cuts shard::cutsOf(TilingAttr tiling) {
  Cuts cuts;
  cuts.degrees = {tiling.getN(), tiling.getC(), tiling.getH(), tiling.getW(),
                  tiling.getK()};
  if (DictionaryAttr sizes = tiling.getSizes())
    for (auto [dim, letter] : llvm::enumerate(StringRef("nchwk")))
      if (auto list = sizes.getAs<DenseI64ArrayAttr>(StringRef(&letter, 1)))
        cuts.sizes[dim] = list.asArrayRef().vec();
  return cuts;
}

static void cutAlong(int dim, const Cuts &layer, Cuts &cuts) {
  cuts.degrees[dim] = layer.degrees[dim];
  cuts.sizes[dim] = layer.sizes[dim];
}
static void dontCutAlong(int dim, Cuts &cuts) {
  cuts.degrees[dim] = 1;
  cuts.sizes[dim].clear();
}

/// The layer's cuts along the dimensions that `axes` have and that are long
/// enough.
static Cuts cutsAlong(const Axes &axes, const Shape &shape, const Cuts &layer) {
  Cuts cuts;
  for (auto [axis, extent] : llvm::zip_equal(axes, shape))
    if (axis != none && layer.fit(axis, extent))
      cutAlong(axis, layer, cuts);
  return cuts;
}

static Box cut(const Axes &axes, const Shape &shape, const Cuts &cuts,
               const Grid &index) {
  Box region = wholeOf(shape);
  for (auto [d, axis] : llvm::enumerate(axes))
    if (axis != none)
      region[d] = cuts.part(axis, shape[d], index[axis]);
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
                     const Box &out, const Cuts &cuts) {
  Patch patch;
  for (int d = 0; d < 2; ++d) {
    patch.in[d] = {0, in[2 + d]};
    patch.pad[d] = op.getPad()[d];
    patch.pad[2 + d] = op.getPad()[2 + d];
    if (cuts.degrees[h + d] == 1)
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

/// Of tiles that compute parts of one sum, the first has what is added once.
static std::optional<Box> onFirst(Box region, int64_t index) {
  return index == 0 ? std::optional<Box>(std::move(region)) : std::nullopt;
}

/// Whether parts of the output channels are whole groups or lie in one each.
static bool channelsCanBeCut(int64_t channels, int64_t groups,
                             const Cuts &cuts) {
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

template <typename OpT>
static Cuts convCuts(OpT op, const Cuts &layer) {
  Shape y = shapeOf(tensorsOf(op).y), weight = shapeOf(tensorsOf(op).w);
  Cuts cuts = cutsAlong({n, c, h, w}, y, layer);
  if (!channelsCanBeCut(y[1], op.getGroup(), cuts))
    dontCutAlong(c, cuts);
  // The input channels of several groups belong to different outputs.
  if (op.getGroup() == 1 && layer.fit(k, weight[1]))
    cutAlong(k, layer, cuts);
  return cuts;
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
static Tile tileOf(ConvGradWeightOp op, const Cuts &cuts,
                   const Grid &index) {
  Tile tile;
  ConvRegions r = convRegions(op, cuts, index, tile);
  tile.operands = {r.y, r.x};
  tile.results = {r.w};
  if (op.getDbias())
    tile.results.push_back(onFirst(Box{r.y[1]}, index[k]));
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
  StringRef text = axes ? axes.getValue() : "nck";
  for (int i = 0; i < 3; ++i)
    dims[i] = text[i] == 'n' ? n : text[i] == 'c' ? c : k;
  return dims;
}

static Shape productExtents(MatMulOp op) {
  Shape result = shapeOf(op.getC()), a = shapeOf(op.getA());
  return {result[result.size() - 2], result.back(),
          op.getTransposeA() ? a[a.size() - 2] : a.back()};
}

static Cuts cutsOf(MatMulOp op, const Cuts &layer) {
  auto dims = productDims(op);
  return cutsAlong(Axes(dims.begin(), dims.end()), productExtents(op), layer);
}

static Tile tileOf(MatMulOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  auto dims = productDims(op);
  Box part =
      cut(Axes(dims.begin(), dims.end()), productExtents(op), cuts, index);
  Interval rows = part[0], columns = part[1], inner = part[2];
  auto matrix = [](Interval first, Interval second, bool transposed) {
    return transposed ? Box{second, first} : Box{first, second};
  };
  tile.operands = {matrix(rows, inner, op.getTransposeA()),
                   matrix(inner, columns, op.getTransposeB())};
  if (op.getBias())
    tile.operands.push_back(
        onFirst(Box{columns}, dims[2] == none ? 0 : index[dims[2]]));
  tile.results = {Box{rows, columns}};
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

static Tile tileOf(ReduceOp op, const Cuts &cuts, const Grid &index) {
  Shape x = shapeOf(op.getX());
  Box in = cut(axesOf(op), x, cuts, index), out;
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

/// Whether an op that moves data leaves dimension `d` alone, so that a part
/// along it comes from the same part.
static bool keeps(Operation *op, size_t d) {
  Shape result = shapeOf(op->getResult(0));
  auto alike = [&](Value value) {
    Shape shape = shapeOf(value);
    return shape.size() == result.size() && shape[d] == result[d];
  };
  if (!llvm::all_of(op->getOperands(), alike) ||
      !llvm::all_of(op->getResults(), alike))
    return false;
  return TypeSwitch<Operation *, bool>(op)
      .Case<ConcatOp, SplitOp>([&](auto op) { return op.getAxis() != static_cast<int64_t>(d); })
      .Case<PadOp>([&](auto op) { return op.getLow()[d] == 0; })
      .Case<SliceOp, SliceGradOp>(
          [&](auto op) { return op.getStart()[d] == 0 && op.getStep()[d] == 1; })
      .Default([](Operation *) { return false; });
}

static Axes keptAxes(Operation *op) {
  Axes axes = usualAxes(shapeOf(op->getResult(0)).size());
  for (size_t d = 0; d < axes.size(); ++d)
    if (!keeps(op, d))
      axes[d] = none;
  return axes;
}

/// All tensors whole.
static Tile wholeTile(Operation *op) {
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(wholeOf(shapeOf(operand)));
  for (Value result : op->getResults())
    tile.results.push_back(wholeOf(shapeOf(result)));
  return tile;
}

/// All tensors cut alike along the axes that the op leaves alone.
static Tile keptTile(Operation *op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  Axes axes = keptAxes(op);
  for (Value operand : op->getOperands())
    tile.operands.push_back(cut(axes, shapeOf(operand), cuts, index));
  for (Value result : op->getResults())
    tile.results.push_back(cut(axes, shapeOf(result), cuts, index));
  return tile;
}

/// The extents of a reshape's samples, and of what follows them as far as the
/// same part of it lies together on both sides: channels, where images become
/// features. Empty if the samples do not stay the first dimension.
static Shape reshapeUnits(ReshapeOp op) {
  Shape x = shapeOf(op.getX()), y = shapeOf(op.getY());
  if (x.empty() || y.empty() || x[0] != y[0])
    return {};
  int64_t channels = x.size() > 1 && y.size() > 1 ? std::min(x[1], y[1]) : 0;
  if (channels == 0 || x[1] % channels || y[1] % channels)
    channels = 1;
  return {x[0], channels};
}

static Cuts cutsOf(ReshapeOp op, const Cuts &layer) {
  Shape units = reshapeUnits(op);
  return units.empty() ? Cuts() : cutsAlong({n, c}, units, layer);
}

static Tile tileOf(ReshapeOp op, const Cuts &cuts, const Grid &index) {
  Shape units = reshapeUnits(op);
  Box part = cut({n, c}, units, cuts, index);
  auto regionOf = [&](Value value) {
    Shape shape = shapeOf(value);
    Box region = wholeOf(shape);
    region[0] = part[0];
    if (cuts.degrees[c] > 1) {
      int64_t perUnit = shape[1] / units[1];
      region[1] = {part[1].begin * perUnit, part[1].end * perUnit};
    }
    return region;
  };
  Tile tile;
  tile.operands = {regionOf(op.getX())};
  tile.results = {regionOf(op.getY())};
  return tile;
}

static Tile tileOf(TransposeOp op, const Cuts &cuts, const Grid &index) {
  Shape y = shapeOf(op.getY());
  Box out = cut(usualAxes(y.size()), y, cuts, index), in = out;
  for (auto [axis, from] : llvm::zip_equal(out, op.getPerm()))
    in[from] = axis;
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

static Tile tileOf(MapOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  Shape shape = shapeOf(op.getY());
  Box out = cut(usualAxes(shape.size()), shape, cuts, index);
  for (Value input : op.getInputs())
    tile.operands.push_back(broadcastRegion(out, shapeOf(input)));
  if (op.getScalars())
    tile.operands.push_back(wholeOf(shapeOf(op.getScalars())));
  tile.results = {out};
  return tile;
}

//===----------------------------------------------------------------------===//
// Normalization across channels, and losses
//===----------------------------------------------------------------------===//

/// Windows across channels: a tile computes what its part looks at, too, which
/// lacks neighbours and is dropped. The gradient looks at windows of windows.
static Tile lrnTile(Operation *op, int64_t below, int64_t above,
                    const Cuts &cuts, const Grid &index) {
  Shape shape = shapeOf(op->getOperand(0));
  Box part = cut({n, c, h, w}, shape, cuts, index), seen = part;
  seen[1] = intersect(Interval{0, shape[1]},
                      Interval{part[1].begin - below, part[1].end + above});
  Tile tile;
  tile.operands.assign(op->getNumOperands(), seen);
  tile.results = {seen};
  if (seen != part)
    tile.kept = part;
  return tile;
}

/// Of logits: the classes of a loss are never cut.
static Axes classAxes(size_t rank) {
  Axes axes = usualAxes(rank);
  axes[1] = none;
  return axes;
}

/// Labels lack the dimension of the classes.
static Axes labelAxes(size_t rank) {
  Axes axes = classAxes(rank + 1);
  axes.erase(axes.begin() + 1);
  return axes;
}

/// Of an op on labels and perhaps logits, or what is known of each class, which
/// have one dimension more. Scalars, counts and weights are whole.
static Tile lossTile(Operation *op, Value labels, const Cuts &cuts,
                     const Grid &index) {
  size_t rank = shapeOf(labels).size();
  auto regionOf = [&](Value value) -> Box {
    Shape shape = shapeOf(value);
    if (value == labels)
      return cut(labelAxes(rank), shape, cuts, index);
    return shape.size() == rank + 1
               ? cut(classAxes(rank + 1), shape, cuts, index)
               : wholeOf(shape);
  };
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(regionOf(operand));
  for (Value result : op->getResults())
    tile.results.push_back(regionOf(result));
  return tile;
}

/// The operand or result of a loss op with the shape of the logits.
static Value logitsOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<CrossEntropyOp, AccuracyOp>([](auto op) { return op.getLogits(); })
      .Case<CrossEntropyGradOp>([](auto op) { return op.getProbs(); })
      .Case<NllLossOp>([](auto op) { return op.getLogprobs(); })
      .Case<NllLossGradOp>([](auto op) { return op.getDlogprobs(); });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

Cuts shard::cutsOf(Operation *op, const Cuts &layer) {
  auto along = [&](Value value, Axes axes) {
    return cutsAlong(axes, shapeOf(value), layer);
  };
  return TypeSwitch<Operation *, Cuts>(op)
      .Case<MapOp>([&](MapOp op) {
        return along(op.getY(), usualAxes(shapeOf(op.getY()).size()));
      })
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>(
          [&](auto op) { return convCuts(op, layer); })
      .Case<MatMulOp>([&](MatMulOp op) { return ::cutsOf(op, layer); })
      .Case<MaxPoolOp, AvgPoolOp>(
          [&](auto op) { return along(op.getY(), {n, c, h, w}); })
      .Case<MaxPoolGradOp, AvgPoolGradOp>(
          [&](auto op) { return along(op.getDy(), {n, c, h, w}); })
      .Case<BatchNormStatsOp, BatchNormGradStatsOp>([&](auto op) {
        Value x = op->getOperand(0);
        return along(x, normalizedAxes(shapeOf(x).size()));
      })
      .Case<LrnOp, LrnGradOp>(
          [&](auto op) { return along(op.getX(), {n, c, h, w}); })
      .Case<SoftmaxOp, SoftmaxGradOp>([&](auto op) {
        Axes axes = usualAxes(shapeOf(op->getOperand(0)).size());
        axes[op.getAxis()] = none;
        return along(op->getOperand(0), axes);
      })
      .Case<ReduceOp>([&](ReduceOp op) { return along(op.getX(), axesOf(op)); })
      .Case<CrossEntropyOp, CrossEntropyGradOp, NllLossOp, NllLossGradOp,
            AccuracyOp>([&](auto op) {
        Value logits = logitsOf(op);
        return along(logits, classAxes(shapeOf(logits).size()));
      })
      .Case<LossWeightOp>([&](auto op) {
        return along(op.getLabels(),
                     labelAxes(shapeOf(op.getLabels()).size()));
      })
      .Case<ReshapeOp>([&](auto op) { return ::cutsOf(op, layer); })
      .Case<TransposeOp>([&](auto op) {
        return along(op.getY(), usualAxes(shapeOf(op.getY()).size()));
      })
      .Case<ConcatOp, SplitOp, PadOp, SliceOp, SliceGradOp>(
          [&](auto op) { return along(op->getResult(0), keptAxes(op)); })
      .Default([](Operation *) { return Cuts(); });
}

Tile shard::tileOf(Operation *op, const Cuts &cuts, const Grid &index) {
  if (cuts.none())
    return wholeTile(op);
  /// Every tensor has the same shape and is cut like it.
  auto alike = [&] {
    Tile tile;
    Shape shape = shapeOf(op->getOperand(0));
    Box region = cut(usualAxes(shape.size()), shape, cuts, index);
    tile.operands.assign(op->getNumOperands(), region);
    tile.results.assign(op->getNumResults(), region);
    return tile;
  };
  return TypeSwitch<Operation *, Tile>(op)
      .Case<MapOp, ConvOp, ConvGradInputOp, ConvGradWeightOp, MatMulOp,
            ReduceOp, ReshapeOp, TransposeOp>([&](auto op) { return ::tileOf(op, cuts, index); })
      .Case<MaxPoolOp, AvgPoolOp>([&](auto op) {
        return poolTile(op, op.getX(), op.getY(), cuts, index, true);
      })
      .Case<MaxPoolGradOp, AvgPoolGradOp>([&](auto op) {
        return poolTile(op, op.getDx(), op.getDy(), cuts, index, false);
      })
      .Case<SoftmaxOp, SoftmaxGradOp>([&](auto) { return alike(); })
      .Case<LrnOp>([&](auto op) {
        int64_t below = (op.getSize() - 1) / 2;
        return lrnTile(op, below, op.getSize() - 1 - below, cuts, index);
      })
      .Case<LrnGradOp>([&](auto op) {
        return lrnTile(op, op.getSize() - 1, op.getSize() - 1, cuts, index);
      })
      .Case<CrossEntropyOp, CrossEntropyGradOp, NllLossOp, NllLossGradOp,
            AccuracyOp, LossWeightOp>(
          [&](auto op) { return lossTile(op, op.getLabels(), cuts, index); })
      .Case<BatchNormStatsOp, BatchNormGradStatsOp>([&](auto op) {
        // Images and, per channel, what is known or found of them.
        Shape shape = shapeOf(op->getOperand(0));
        Box box = cut(normalizedAxes(shape.size()), shape, cuts, index);
        Tile tile;
        for (Value operand : op->getOperands())
          tile.operands.push_back(shapeOf(operand).size() == 1 ? Box{box[1]}
                                                               : box);
        tile.results.assign(op->getNumResults(), Box{box[1]});
        return tile;
      })
      .Default([&](Operation *op) { return keptTile(op, cuts, index); });
}

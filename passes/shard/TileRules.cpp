//===- TileRules.cpp - How an op is cut into tiles ------------------------===//
//
// The table, and the rules of products, elementwise ops, reductions and losses.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/OpRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

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

static Grid extentsOf(MatMulOp op) {
  auto dims = productDims(op);
  return extentsAlong(Axes(dims.begin(), dims.end()), productExtents(op));
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
// Elementwise ops and reductions
//===----------------------------------------------------------------------===//

/// What an operand that is broadcast to a result needs for a region of it.
static Box broadcastRegion(const Box &result, const Shape &operand) {
  Box region = wholeOf(operand);
  for (size_t d = 0; d < operand.size(); ++d)
    if (operand[d] != 1)
      region[d] = result[result.size() - operand.size() + d];
  return region;
}

static Tile tileOf(MapOp op, const Cuts &cuts, const Grid &index) {
  Tile tile;
  Shape shape = shapeOf(op.getY());
  Box out = cut(usualAxes(shape), shape, cuts, index);
  for (Value input : op.getInputs())
    tile.operands.push_back(broadcastRegion(out, shapeOf(input)));
  if (op.getScalars())
    tile.operands.push_back(wholeOf(shapeOf(op.getScalars())));
  tile.results = {out};
  return tile;
}

/// The dimensions of a reduction's operand. A mean is not a sum of means: what
/// it reduces is not cut.
static Axes axesOf(ReduceOp op) {
  Axes axes = usualAxes(shapeOf(op.getX()));
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

static Tile tileOf(ReduceMaxOp op, const Cuts &cuts, const Grid &index) {
  Shape x = shapeOf(op.getX());
  Box in = cut(usualAxes(x), x, cuts, index), out = in;
  out[op.getAxis()] = {0, 1};
  Tile tile;
  tile.operands = {in};
  tile.results = {out};
  return tile;
}

//===----------------------------------------------------------------------===//
// Normalization across channels, and losses
//===----------------------------------------------------------------------===//

/// What is normalized per channel has at least samples and channels.
static Axes normalizedAxes(size_t rank) {
  if (rank == 4)
    return {n, c, h, w};
  Axes axes(rank, none);
  axes[0] = n;
  axes[1] = c;
  return axes;
}

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

/// Labels lack the dimension of the classes, the second of the logits.
static Axes labelAxes(size_t rank) {
  Axes axes = normalizedAxes(rank + 1);
  axes.erase(axes.begin() + 1);
  return axes;
}

/// Of an op on labels and perhaps logits, or what is known of each class, which
/// have one dimension more. Scalars, counts and weights are whole. Only what is
/// made for it is cut along the classes (TakeApart.h).
static Tile lossTile(Operation *op, Value labels, const Cuts &cuts,
                     const Grid &index) {
  size_t rank = shapeOf(labels).size();
  auto regionOf = [&](Value value) -> Box {
    Shape shape = shapeOf(value);
    if (value == labels)
      return cut(labelAxes(rank), shape, cuts, index);
    if (shape.size() != rank + 1)
      return wholeOf(shape);
    Axes axes = normalizedAxes(rank + 1);
    if (shape[1] == 1) // one number for all classes
      axes[1] = none;
    return cut(axes, shape, cuts, index);
  };
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(regionOf(operand));
  for (Value result : op->getResults())
    tile.results.push_back(regionOf(result));
  if (isa<OneHotOp, LabelRankOp>(op)) {
    const Box &classes =
        isa<OneHotOp>(op) ? *tile.results[0] : *tile.operands[0];
    tile.attributes.set("first_class",
                        IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                         classes[1].begin));
  }
  return tile;
}

Value shard::logitsOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<CrossEntropyOp, AccuracyOp, LabelRankOp>(
          [](auto op) { return op.getLogits(); })
      .Case<CrossEntropyGradOp>([](auto op) { return op.getProbs(); })
      .Case<NllLossOp>([](auto op) { return op.getLogprobs(); })
      .Case<NllLossGradOp>([](auto op) { return op.getDlogprobs(); })
      .Case<OneHotOp>([](auto op) { return op.getY(); });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// All tensors whole.
static Tile wholeTile(Operation *op) {
  Tile tile;
  for (Value operand : op->getOperands())
    tile.operands.push_back(wholeOf(shapeOf(operand)));
  for (Value result : op->getResults())
    tile.results.push_back(wholeOf(shapeOf(result)));
  return tile;
}

Grid shard::extentsOf(Operation *op) {
  auto along = [&](Value value, Axes axes) {
    return extentsAlong(axes, shapeOf(value));
  };
  return TypeSwitch<Operation *, Grid>(op)
      .Case<MapOp>([&](MapOp op) {
        return along(op.getY(), usualAxes(shapeOf(op.getY())));
      })
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp>(
          [](auto op) { return extentsOfConv(op); })
      .Case<MatMulOp>([](MatMulOp op) { return ::extentsOf(op); })
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
      .Case<SoftmaxOp, SoftmaxGradOp, ReduceMaxOp>([&](auto op) {
        Value x = op->getOperand(0);
        return along(x, usualAxes(shapeOf(x)));
      })
      .Case<ReduceOp>([&](ReduceOp op) { return along(op.getX(), axesOf(op)); })
      .Case<CrossEntropyOp, CrossEntropyGradOp, NllLossOp, NllLossGradOp,
            AccuracyOp, OneHotOp, LabelRankOp>([&](auto op) {
        Value logits = logitsOf(op);
        return along(logits, normalizedAxes(shapeOf(logits).size()));
      })
      .Case<LossWeightOp>([&](auto op) {
        return along(op.getLabels(), labelAxes(shapeOf(op.getLabels()).size()));
      })
      .Case<ReshapeOp>([](auto op) { return shard::extentsOf(op); })
      .Case<TransposeOp, ConcatOp, PadOp, SliceOp>([&](auto op) {
        return along(op.getY(), usualAxes(shapeOf(op.getY())));
      })
      .Case<SplitOp>([&](auto op) {
        return along(op.getX(), usualAxes(shapeOf(op.getX())));
      })
      .Case<SliceGradOp>([&](SliceGradOp op) {
        return along(op.getDy(), usualAxes(shapeOf(op.getDy())));
      })
      .Default([](Operation *) { return Grid{1, 1, 1, 1, 1}; });
}

Cuts shard::cutsOf(Operation *op, const Cuts &layer) {
  Cuts cuts;
  Grid extents = extentsOf(op);
  for (int dim : {n, c, h, w, k})
    if (layer.fit(dim, extents[dim]))
      cuts.cutAlong(dim, layer);
  if (!groupsAllow(op, cuts))
    cuts.dontCutAlong(c);
  for (int dim : {h, w})
    if (cuts.degrees[dim] > 1 && !windowsAllow(op, cuts, dim))
      cuts.dontCutAlong(dim);
  return cuts;
}

Tile shard::tileOf(Operation *op, const Cuts &cuts, const Grid &index) {
  if (cuts.none())
    return wholeTile(op);
  /// Every tensor has the same shape and is cut like it.
  auto alike = [&] {
    Tile tile;
    Shape shape = shapeOf(op->getOperand(0));
    Box region = cut(usualAxes(shape), shape, cuts, index);
    tile.operands.assign(op->getNumOperands(), region);
    tile.results.assign(op->getNumResults(), region);
    return tile;
  };
  return TypeSwitch<Operation *, Tile>(op)
      .Case<MapOp, MatMulOp, ReduceOp, ReduceMaxOp>(
          [&](auto op) { return ::tileOf(op, cuts, index); })
      .Case<ReshapeOp, TransposeOp, ConcatOp, SplitOp, PadOp, SliceOp,
            SliceGradOp>(
          [&](auto op) { return shard::tileOf(op, cuts, index); })
      .Case<ConvOp, ConvGradInputOp, ConvGradWeightOp, MaxPoolOp, AvgPoolOp,
            MaxPoolGradOp, AvgPoolGradOp>(
          [&](auto op) { return tileOfWindowed(op, cuts, index); })
      .Case<SoftmaxOp, SoftmaxGradOp>([&](auto) { return alike(); })
      .Case<LrnOp>([&](auto op) {
        int64_t below = (op.getSize() - 1) / 2;
        return lrnTile(op, below, op.getSize() - 1 - below, cuts, index);
      })
      .Case<LrnGradOp>([&](auto op) {
        return lrnTile(op, op.getSize() - 1, op.getSize() - 1, cuts, index);
      })
      .Case<CrossEntropyOp, CrossEntropyGradOp, NllLossOp, NllLossGradOp,
            AccuracyOp, LossWeightOp, OneHotOp, LabelRankOp>(
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
      .Default([](Operation *op) -> Tile {
        llvm_unreachable("only ops that have extents are cut");
      });
}

//===- Verify.cpp - What one train op can check by itself -----------------===//
//
// Shapes and attributes of single ops. What concerns a whole function or
// module (names, phases, parameters) is checked per form in passes/verify.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "ir/train/Expression.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

using Shape = SmallVector<int64_t>;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::string text(ArrayRef<int64_t> shape) {
  std::string result = "[";
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(shape, os);
  return result + "]";
}

LogicalResult expectShape(Operation *op, StringRef what, Value value,
                          ArrayRef<int64_t> expected) {
  if (shapeOf(value) == expected)
    return success();
  return op->emitOpError() << what << " has shape " << text(shapeOf(value))
                           << "; expected " << text(expected);
}

LogicalResult expectRank(Operation *op, StringRef what, Value value,
                         int64_t expected) {
  int64_t rank = shapeOf(value).size();
  if (rank == expected)
    return success();
  return op->emitOpError() << what << " has rank " << rank << "; expected "
                           << expected;
}

LogicalResult expectSize(Operation *op, StringRef what, ArrayRef<int64_t> list,
                         size_t expected) {
  if (list.size() == expected)
    return success();
  return op->emitOpError() << what << " has " << list.size()
                           << " entries; expected " << expected;
}

LogicalResult expectPositive(Operation *op, StringRef what,
                             ArrayRef<int64_t> list) {
  for (int64_t entry : list)
    if (entry <= 0)
      return op->emitOpError()
             << what << " is " << text(list) << "; expected positive numbers";
  return success();
}

/// Windows over two spatial dimensions.
struct Windows {
  ArrayRef<int64_t> kernel, dilation, pad, stride;

  LogicalResult check(Operation *op) const {
    return success(succeeded(expectSize(op, "kernel", kernel, 2)) &&
                   succeeded(expectSize(op, "dilation", dilation, 2)) &&
                   succeeded(expectSize(op, "pad", pad, 4)) &&
                   succeeded(expectSize(op, "stride", stride, 2)) &&
                   succeeded(expectPositive(op, "kernel", kernel)) &&
                   succeeded(expectPositive(op, "dilation", dilation)) &&
                   succeeded(expectPositive(op, "stride", stride)));
  }

  /// Positions of the window along a dimension, counted with floor or ceil. A
  /// window that is larger than the input overhangs as the last one may: that
  /// is all that some tiles have.
  int64_t positions(int dim, int64_t extent, bool ceil) const {
    int64_t room = extent + pad[dim] + pad[dim + 2] -
                   (dilation[dim] * (kernel[dim] - 1) + 1);
    if (room < 0)
      return ceil ? 1 : 0;
    return (room + (ceil ? stride[dim] - 1 : 0)) / stride[dim] + 1;
  }
};

/// Result of a pooling: with ceil_mode the last window may overhang.
template <typename Pool>
LogicalResult verifyPool(Pool op) {
  Windows windows{op.getKernel(), op.getDilation(), op.getPad(),
                  op.getStride()};
  if (failed(expectRank(op, "input", op.getX(), 4)) ||
      failed(windows.check(op)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  Shape floor{x[0], x[1]}, ceil{x[0], x[1]};
  for (int dim : {0, 1}) {
    floor.push_back(windows.positions(dim, x[2 + dim], false));
    ceil.push_back(windows.positions(dim, x[2 + dim], true));
  }
  bool fits = y.size() == 4 && y[0] == x[0] && y[1] == x[1];
  for (int dim : {2, 3})
    fits = fits && y[dim] >= 1 && y[dim] >= floor[dim] && y[dim] <= ceil[dim];
  if (fits)
    return success();
  InFlightDiagnostic diag = op.emitOpError() << "result has shape " << text(y)
                                             << "; expected " << text(floor);
  if (ceil != floor)
    diag << " or, with ceil_mode, " << text(ceil);
  return diag;
}

LogicalResult expectAxis(Operation *op, int64_t axis, Value x) {
  int64_t rank = shapeOf(x).size();
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "axis is " << axis << "; expected 0 to "
                           << rank - 1;
}

/// labels [n, ...] and weight [c] for scores [n, c, ...].
LogicalResult verifyLoss(Operation *op, Value scores, Value labels,
                         Value weight) {
  ArrayRef<int64_t> shape = shapeOf(scores);
  if (shape.size() < 2)
    return op->emitOpError()
           << "scores have rank " << shape.size() << "; expected at least 2";
  Shape expected(shape);
  expected.erase(expected.begin() + 1);
  if (failed(expectShape(op, "labels", labels, expected)))
    return failure();
  return weight ? expectShape(op, "weight", weight, {shape[1]}) : success();
}

} // namespace

LogicalResult ConstantOp::verify() {
  if (isa<SplatElementsAttr>(getValue()))
    return success();
  return emitOpError() << "has elements that differ; expected a splat";
}

LogicalResult MapOp::verify() {
  llvm::Expected<Expression> expr = Expression::parse(getExpr());
  if (!expr)
    return emitOpError() << llvm::toString(expr.takeError());
  if (expr->inputs() > getInputs().size())
    return emitOpError() << "expression uses x" << expr->inputs() - 1
                         << "; found " << getInputs().size() << " inputs";
  if (expr->usesDropout() && !getScalars())
    return emitOpError() << "calls dropout_mask; expected scalars";
  ArrayRef<int64_t> result = shapeOf(getY());
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (broadcast({shapeOf(input), result}) != Shape(result))
      return emitOpError() << "input " << i << " of shape "
                           << text(shapeOf(input))
                           << " does not broadcast to the result's "
                           << text(result);
  if (!getFn())
    return success();
  const ElementwiseFunction *row = findElementwise(*getFn());
  if (!row)
    return emitOpError() << "unknown elementwise function '" << *getFn() << "'";
  if (row->inputs != getInputs().size())
    return emitOpError() << "'" << row->name << "' has " << getInputs().size()
                         << " inputs; expected " << row->inputs;
  for (StringRef param : row->params)
    if (!getParams() || !getParams()->getAs<FloatAttr>(param))
      return emitOpError() << "'" << row->name << "' needs the parameter '"
                           << param << "'";
  return success();
}

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

LogicalResult MatMulOp::verify() {
  Shape a(shapeOf(getA())), b(shapeOf(getB()));
  if (a.size() < 2 || b.size() < 2)
    return emitOpError() << "operands have shapes " << text(a) << " and "
                         << text(b) << "; expected at least rank 2";
  if (getTransposeA())
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (getTransposeB())
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  int64_t n = b.back(), k = b[b.size() - 2];
  if (a.back() != k)
    return emitOpError() << "reduces over " << a.back() << " of a and " << k
                         << " of b; expected equal extents";
  ArrayRef<int64_t> batch = ArrayRef<int64_t>(a).drop_back(2);
  if (b.size() > 2 && batch != ArrayRef<int64_t>(b).drop_back(2))
    return emitOpError() << "leading dimensions of a and b differ: "
                         << text(shapeOf(getA())) << " and "
                         << text(shapeOf(getB()));
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {n})))
    return failure();
  Shape c(batch);
  c.append({a[a.size() - 2], n});
  return expectShape(*this, "result", getC(), c);
}

LogicalResult TransferOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType());
  auto to = cast<RankedTensorType>(getY().getType());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitOpError("changes ") << from << " to " << to;
  return success();
}

LogicalResult MaxPoolOp::verify() {
  if (failed(verifyPool(*this)))
    return failure();
  bool bytes = getKernel()[0] * getKernel()[1] <= 256;
  auto index = cast<RankedTensorType>(getIndex().getType());
  if (index.getElementType().isInteger(8) != bytes)
    return emitOpError() << "index has elements of type "
                         << index.getElementType() << "; expected "
                         << (bytes ? "ui8" : "i32") << " for windows of "
                         << getKernel()[0] * getKernel()[1] << " taps";
  return expectShape(*this, "index", getIndex(), shapeOf(getY()));
}

LogicalResult AvgPoolOp::verify() { return verifyPool(*this); }

LogicalResult BatchNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() < 2)
    return emitOpError() << "input has rank " << x.size()
                         << "; expected at least 2";
  const std::pair<StringRef, Value> perChannel[] = {
      {"scale", getScale()},
      {"bias", getBias()},
      {"running_mean", getRunningMean()},
      {"running_variance", getRunningVariance()},
      {"mean", getMean()},
      {"invstd", getInvstd()},
      {"new_mean", getNewMean()},
      {"new_variance", getNewVariance()}};
  for (auto [what, value] : perChannel)
    if (failed(expectShape(*this, what, value, {x[1]})))
      return failure();
  return expectShape(*this, "result", getY(), x);
}

LogicalResult SoftmaxOp::verify() {
  if (failed(expectAxis(*this, getAxis(), getX())))
    return failure();
  return expectShape(*this, "result", getY(), shapeOf(getX()));
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyLoss(*this, getLogits(), getLabels(), getWeight())))
    return failure();
  return expectShape(*this, "probs", getProbs(), shapeOf(getLogits()));
}

LogicalResult NllLossOp::verify() {
  return verifyLoss(*this, getLogprobs(), getLabels(), getWeight());
}

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), axes = getAxes();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(expectAxis(*this, axis, getX())))
      return failure();
    if (i && axes[i - 1] >= axis)
      return emitOpError() << "axes are " << text(axes)
                           << "; expected ascending order";
  }
  Shape kept, dropped;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(dim));
    kept.push_back(reduced ? 1 : extent);
    if (!reduced)
      dropped.push_back(extent);
  }
  if (shapeOf(getY()) == ArrayRef<int64_t>(kept))
    return success();
  return expectShape(*this, "result", getY(), dropped);
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
  Shape sorted(getPerm());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.size())))
    return emitOpError() << "perm " << text(getPerm())
                         << " is no permutation of the " << x.size()
                         << " dimensions";
  Shape expected;
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
    Shape expected(y);
    if (shapeOf(x).size() == y.size())
      total += expected[axis] = shapeOf(x)[axis];
    if (failed(expectShape(*this, "operand " + std::to_string(i), x, expected)))
      return failure();
  }
  Shape expected(y);
  expected[axis] = total;
  return expectShape(*this, "result", getY(), expected);
}

LogicalResult SumOp::verify() {
  if (getXs().empty())
    return emitOpError() << "adds nothing; expected at least one operand";
  for (auto [i, x] : llvm::enumerate(getXs()))
    if (failed(expectShape(*this, "operand " + std::to_string(i), x,
                           shapeOf(getY()))))
      return failure();
  return success();
}

LogicalResult SplitOp::verify() {
  int64_t axis = getAxis();
  if (failed(expectAxis(*this, axis, getX())) ||
      failed(expectSize(*this, "sizes", getSizes(), getYs().size())))
    return failure();
  Shape expected(shapeOf(getX()));
  int64_t total = 0;
  for (auto [i, y] : llvm::enumerate(getYs())) {
    total += expected[axis] = getSizes()[i];
    if (failed(expectShape(*this, "result " + std::to_string(i), y, expected)))
      return failure();
  }
  if (total == shapeOf(getX())[axis])
    return success();
  return emitOpError() << "sizes sum to " << total << "; expected "
                       << shapeOf(getX())[axis];
}

LogicalResult PadOp::verify() {
  if (failed(expectSize(*this, "low", getLow(), shapeOf(getX()).size())))
    return failure();
  return expectRank(*this, "result", getY(), shapeOf(getX()).size());
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), y = shapeOf(getY());
  if (failed(expectSize(*this, "start", getStart(), x.size())) ||
      failed(expectSize(*this, "step", getStep(), x.size())) ||
      failed(expectRank(*this, "result", getY(), x.size())))
    return failure();
  for (auto [dim, extent] : llvm::enumerate(x)) {
    int64_t first = getStart()[dim], step = getStep()[dim];
    int64_t last = first + (y[dim] - 1) * step;
    if (step == 0)
      return emitOpError() << "step is 0 along dimension " << dim;
    if (y[dim] > 0 &&
        (std::min(first, last) < 0 || std::max(first, last) >= extent))
      return emitOpError() << "takes elements " << first << " to " << last
                           << " of dimension " << dim << "; expected 0 to "
                           << extent - 1;
  }
  return success();
}

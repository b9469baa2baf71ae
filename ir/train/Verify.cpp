//===- Verify.cpp - What one train op can check by itself -----------------===//
//
// Sizes of values, shapes and attributes of single ops; those with windows are
// in VerifyWindows.cpp. What concerns a whole function or module (names,
// phases, parameters) is checked per form in passes/verify.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "ir/train/Expect.h"
#include "ir/train/Expression.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;
using namespace lwcc::train::expect;

namespace {

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

/// `part` is what a slice takes of `whole`.
LogicalResult verifySlice(Operation *op, Value whole, ArrayRef<int64_t> start,
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

/// The classes that an op knows, of all those that there are.
LogicalResult verifyFirstClass(Operation *op, int64_t first) {
  if (first >= 0 && first <= maxElements)
    return success();
  return op->emitOpError() << "first_class is " << first << "; expected 0 to "
                           << maxElements;
}

} // namespace

/// Rule (A1) as far as one value goes. Ahead of the op's own verifier, which
/// may multiply and add the extents.
LogicalResult lwcc::train::verifySizes(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || (elementCount(tensor.getShape()) &&
                    size_t(tensor.getRank()) <= maxTensorRank))
      return success();
    InFlightDiagnostic diag = op->emitOpError()
                              << "has a value of type " << type << ": ";
    if (tensor.hasStaticShape())
      return diag << "more than " << (maxBytes >> 40) << " TiB or "
                  << maxTensorRank << " dimensions";
    return diag << "an extent that is not known";
  };
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return check(parameter.getType());
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (failed(check(type)))
      return failure();
  return success();
}

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

LogicalResult SoftmaxOp::verify() {
  if (failed(expectAxis(*this, getAxis(), getX())))
    return failure();
  return expectShape(*this, "result", getY(), shapeOf(getX()));
}

LogicalResult SoftmaxGradOp::verify() {
  if (failed(expectAxis(*this, getAxis(), getY())))
    return failure();
  return expectShape(*this, "result", getDx(), shapeOf(getY()));
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyLoss(*this, getLogits(), getLabels(), getWeight())))
    return failure();
  return expectShape(*this, "probs", getProbs(), shapeOf(getLogits()));
}

LogicalResult NllLossOp::verify() {
  return verifyLoss(*this, getLogprobs(), getLabels(), getWeight());
}

LogicalResult OneHotOp::verify() {
  return verifyFirstClass(*this, getFirstClass());
}

LogicalResult LabelRankOp::verify() {
  return verifyFirstClass(*this, getFirstClass());
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

LogicalResult ReduceMaxOp::verify() {
  return expectAxis(*this, getAxis(), getX());
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
      expected[axis] = shapeOf(x)[axis];
    if (failed(expectShape(*this, "operand " + std::to_string(i), x, expected)))
      return failure();
    if (llvm::AddOverflow(total, expected[axis], total))
      return emitOpError() << "joins more than any tensor has";
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

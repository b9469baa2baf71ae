//===- GradientsElementwise.cpp - Gradients of maps, losses and movement
//---===//
//
// Maps take their gradient from the elementwise table; normalizations and
// losses have gradient ops of their own; data movement is undone. Layers,
// phases, names and the sums over several uses are the autodiff pass's
// business (passes/differentiate).
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// A map of those of `values` that `expr` uses (input N is values[N]), numbered
/// in the order in which they are given. No map where it is one of them.
static Value buildUsed(OpBuilder &builder, Location loc, RankedTensorType type,
                       const Expression &expr, ArrayRef<Value> values) {
  if (expr.kind == Expression::Kind::input)
    return values[expr.input];
  SmallVector<Value> used;
  SmallVector<Expression> renumbered(values.size());
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!expr.uses(i))
      continue;
    renumbered[i] = Expression::inputOf(used.size());
    used.push_back(value);
  }
  return buildMap(builder, loc, type, expr.substitute(renumbered), used);
}

bool MapOp::hasGradient() {
  const ElementwiseFunction *row =
      getFn() ? findElementwise(*getFn()) : nullptr;
  return row && !row->gradients.empty();
}

SmallVector<Value> MapOp::buildGradients(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         ArrayRef<bool> needed) {
  assert(hasGradient() && "only a row of the table has a gradient");
  const ElementwiseFunction &row = *findElementwise(*getFn());
  auto param = [&](StringRef name) {
    return getParams()->getAs<FloatAttr>(name).getValueAsDouble();
  };
  // dy first, so that the kernel reads as "dy, then what it is weighed with".
  unsigned n = row.inputs;
  SmallVector<Value> values{resultGrads[0]};
  llvm::append_range(values, getInputs());
  values.push_back(getY());
  SmallVector<Expression> order;
  for (unsigned i = 0; i < n; ++i)
    order.push_back(Expression::inputOf(i + 1));
  order.push_back(Expression::inputOf(0));     // dy
  order.push_back(Expression::inputOf(n + 1)); // y
  SmallVector<Value> grads(getNumOperands());
  for (unsigned i = 0; i < n; ++i) {
    if (!needed[i])
      continue;
    Expression gradient =
        instantiate(row, row.gradients[i], param).substitute(order);
    Value full = buildUsed(builder, getLoc(), typeOf(getY()), gradient, values);
    grads[i] = reduceTo(builder, getLoc(), full, typeOf(getInputs()[i]));
  }
  return grads;
}

SmallVector<Value> DropoutOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {DropoutOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                            getScalars(), getRatioAttr(), getStreamAttr()),
          Value()};
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

SmallVector<Value> BatchNormOp::buildGradients(OpBuilder &builder,
                                               ArrayRef<Value> resultGrads,
                                               ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (!resultGrads[0])
    return grads;
  auto grad = BatchNormGradOp::create(builder, getLoc(), getX().getType(),
                                      getScale().getType(), getBias().getType(),
                                      resultGrads[0], getX(), getScale(),
                                      getMean(), getInvstd());
  for (unsigned i : {0, 1, 2}) // x, scale, bias
    if (needed[i])
      grads[i] = grad->getResult(i);
  return grads;
}

SmallVector<Value> LrnOp::buildGradients(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         ArrayRef<bool> needed) {
  return {LrnGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                            getX(), getAlphaAttr(), getBetaAttr(),
                            getBiasAttr(), getSizeAttr())};
}

//===----------------------------------------------------------------------===//
// Softmax and losses
//===----------------------------------------------------------------------===//

SmallVector<Value> SoftmaxOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {SoftmaxGradOp::create(builder, getLoc(), getX().getType(),
                                resultGrads[0], getY(), getAxis(), getLog())};
}

SmallVector<Value> CrossEntropyOp::buildGradients(OpBuilder &builder,
                                                  ArrayRef<Value> resultGrads,
                                                  ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), resultGrads[0], getProbs(),
        getLabels(), getWeight(), getIgnoreIndex(), getSum());
  return grads;
}

SmallVector<Value> NllLossOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  SmallVector<Value> grads(getNumOperands());
  if (needed[0])
    grads[0] = NllLossGradOp::create(builder, getLoc(), getLogprobs().getType(),
                                     resultGrads[0], getLabels(), getWeight(),
                                     getIgnoreIndex(), getSum());
  return grads;
}

//===----------------------------------------------------------------------===//
// Reductions and data movement
//===----------------------------------------------------------------------===//

SmallVector<Value> ReduceOp::buildGradients(OpBuilder &builder,
                                            ArrayRef<Value> resultGrads,
                                            ArrayRef<bool> needed) {
  RankedTensorType type = typeOf(getX());
  Value dy = resultGrads[0];
  if (typeOf(dy).getRank() != type.getRank()) {
    SmallVector<int64_t> kept(type.getShape());
    for (int64_t axis : getAxes())
      kept[axis] = 1;
    dy = ReshapeOp::create(builder, getLoc(),
                           tensorOf(builder.getContext(), kept), dy);
  }
  Expression spread = Expression::inputOf(0);
  if (getMean()) {
    double count = static_cast<double>(type.getNumElements()) /
                   typeOf(getY()).getNumElements();
    Expression scaled{Expression::Kind::binary};
    scaled.op = "*";
    scaled.args = {spread, Expression::literalOf(1.0 / count)};
    spread = std::move(scaled);
  }
  return {buildMap(builder, getLoc(), type, spread, {dy})};
}

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

//===- Gradients.cpp - Gradients of convolution, products and pooling -----===//
//
// How each op is differentiated. Layers, phases, names and the sums over
// several uses are the autodiff pass's business (passes/differentiate). A
// fused ReLU is differentiated from the op's own result.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The gradient before a fused ReLU.
Value throughRelu(OpBuilder &builder, Location loc, bool relu, Value dy,
                  Value y) {
  if (!relu)
    return dy;
  const ElementwiseFunction *row = findElementwise("relu");
  // The row's gradient is over dy (input 1) and y (input 2); x is not used.
  Expression gradient =
      instantiate(*row, row->gradients[0], nullptr)
          .substitute({Expression::inputOf(0), Expression::inputOf(0),
                       Expression::inputOf(1)});
  return buildMap(builder, loc, typeOf(dy), gradient, {dy, y});
}

/// Exchanges the last two dimensions.
Value transposeLast(OpBuilder &builder, Location loc, Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(perm[shape.size() - 1], perm[shape.size() - 2]);
  return TransposeOp::create(
      builder, loc, tensorOf(builder.getContext(), shape), value, perm);
}

/// [.., m, n] as a matrix [.. * m, n].
Value flatten(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == 2)
    return value;
  int64_t last = type.getShape().back();
  return ReshapeOp::create(
      builder, loc,
      tensorOf(builder.getContext(), {type.getNumElements() / last, last}),
      value);
}

/// `axes`: the layer's dimensions of m, n and k (Train.h).
Value product(OpBuilder &builder, Location loc, Type type, Value a,
              bool transposeA, Value b, bool transposeB, StringRef axes) {
  auto op = MatMulOp::create(builder, loc, type, a, b, Value(), /*relu=*/false,
                             transposeA, transposeB);
  op->setAttr(axesAttr, builder.getStringAttr(axes));
  return op;
}

/// Sum over all dimensions but one.
Value sumToChannel(OpBuilder &builder, Location loc, Value value,
                   int64_t channel) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  axes.erase(axes.begin() + channel);
  return ReduceOp::create(
      builder, loc,
      tensorOf(builder.getContext(), {typeOf(value).getDimSize(channel)}),
      value, axes, /*mean=*/false);
}

} // namespace

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

SmallVector<Value> MatMulOp::buildGradients(OpBuilder &builder,
                                            ArrayRef<Value> resultGrads,
                                            ArrayRef<bool> needed) {
  Location loc = getLoc();
  Value dc = throughRelu(builder, loc, getRelu(), resultGrads[0], getC());
  Value a = getA(), b = getB();
  bool ta = getTransposeA(), tb = getTransposeB();
  bool sharedB = typeOf(a).getRank() > 2 && typeOf(b).getRank() == 2;
  SmallVector<Value> grads(getNumOperands());
  if (needed[0]) {
    if (!ta) {
      grads[0] = product(builder, loc, a.getType(), dc, false, b, !tb, "n-c");
    } else if (sharedB) {
      // Only the second factor may be one matrix for the whole batch.
      SmallVector<int64_t> shape(typeOf(a).getShape());
      std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
      Value transposed =
          product(builder, loc, tensorOf(builder.getContext(), shape), dc,
                  false, b, !tb, "n-c");
      grads[0] = transposeLast(builder, loc, transposed);
    } else {
      grads[0] = product(builder, loc, a.getType(), b, tb, dc, true, "-nc");
    }
  }
  if (needed[1]) {
    Value left = a, right = dc;
    bool leftTransposed = ta;
    if (sharedB) { // the sum over the batch is part of the product
      left = flatten(builder, loc, ta ? transposeLast(builder, loc, a) : a);
      right = flatten(builder, loc, dc);
      leftTransposed = false;
    }
    grads[1] = tb ? product(builder, loc, b.getType(), right, true, left,
                            leftTransposed, "c-n")
                  : product(builder, loc, b.getType(), left, !leftTransposed,
                            right, false, "-cn");
  }
  if (getBias() && needed[2])
    grads[2] = sumToChannel(builder, loc, dc, typeOf(dc).getRank() - 1);
  return grads;
}

SmallVector<Value> MaxPoolOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {MaxPoolGradOp::create(builder, getLoc(), getX().getType(),
                                resultGrads[0], getIndex(), getDilation(),
                                getKernel(), getPad(), getStride())};
}

SmallVector<Value> AvgPoolOp::buildGradients(OpBuilder &builder,
                                             ArrayRef<Value> resultGrads,
                                             ArrayRef<bool> needed) {
  return {AvgPoolGradOp::create(
      builder, getLoc(), getX().getType(), resultGrads[0], getCountIncludePad(),
      getDilation(), getKernel(), getPad(), getStride())};
}

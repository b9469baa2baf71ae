//===- MatMul.cpp - Matrix products ---------------------------------------===//
//
// Matrix products: op(a) * op(b) + bias over the last two dimensions. The
// gradients of a product are products, too. `train.axes` says which dimension
// of the layer m, n and k of a product are, so that all products of a layer are
// cut along the layer's dimensions.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult MatMulOp::verify() {
  Dims a(shapeOf(getA())), b(shapeOf(getB()));
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
  Dims c(batch);
  c.append({a[a.size() - 2], n});
  return expectShape(*this, "result", getC(), c);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Exchanges the last two dimensions.
static Value transposeLast(OpBuilder &builder, Location loc, Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(perm[shape.size() - 1], perm[shape.size() - 2]);
  return TransposeOp::create(
      builder, loc, tensorOf(builder.getContext(), shape), value, perm);
}

/// A tensor [.., m, n] as the matrix [.. * m, n].
static Value flatten(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == 2)
    return value;
  int64_t last = type.getShape().back();
  return ReshapeOp::create(
      builder, loc,
      tensorOf(builder.getContext(), {type.getNumElements() / last, last}),
      value);
}

/// Makes a product; `axes` names the layer's dimensions of its m, n and k
/// (Train.h).
static Value product(OpBuilder &builder, Location loc, Type type, Value a,
                     bool transposeA, Value b, bool transposeB,
                     StringRef axes) {
  auto op = MatMulOp::create(builder, loc, type, a, b, Value(), /*relu=*/false,
                             transposeA, transposeB);
  op->setAttr(axesAttr, builder.getStringAttr(axes));
  return op;
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
      // Only b may be one matrix for the whole batch.
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
    if (sharedB) { // the sum over the batch becomes part of the product
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

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The layer's dimensions of m, n and k in op(a) [m, k] * op(b) [k, n].
static std::array<int, 3> productDims(MatMulOp op) {
  std::array<int, 3> dims = {none, none, none};
  if (shapeOf(op.getC()).size() != 2)
    return dims;
  auto axes = op->getAttrOfType<StringAttr>(axesAttr);
  StringRef text = axes ? axes.getValue() : "nck";
  for (int i = 0; i < 3; ++i)
    dims[i] = text[i] == 'n' ? n : text[i] == 'c' ? c : k;
  return dims;
}

static Shape productExtents(MatMulOp op) {
  ArrayRef<int64_t> result = shapeOf(op.getC()), a = shapeOf(op.getA());
  return {result[result.size() - 2], result.back(),
          op.getTransposeA() ? a[a.size() - 2] : a.back()};
}

Grid MatMulOp::extents() {
  auto dims = productDims(*this);
  return tiling::extentsAlong(Axes(dims.begin(), dims.end()),
                              productExtents(*this));
}

Tile MatMulOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  auto dims = productDims(*this);
  Box part = tiling::cut(Axes(dims.begin(), dims.end()), productExtents(*this),
                         cuts, index);
  Interval rows = part[0], columns = part[1], inner = part[2];
  auto matrix = [](Interval first, Interval second, bool transposed) {
    return transposed ? Box{second, first} : Box{first, second};
  };
  tile.operands = {matrix(rows, inner, getTransposeA()),
                   matrix(inner, columns, getTransposeB())};
  if (getBias())
    tile.operands.push_back(
        onFirst(Box{columns}, dims[2] == none ? 0 : index[dims[2]]));
  tile.results = {Box{rows, columns}};
  return tile;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Arithmetic MatMulOp::arithmetic(const CallShape &call) {
  const auto &c = call.results[0], &a = call.operands[0];
  size_t last = c->size() - 1, inner = a->size() - 1;
  auto transposed = dyn_cast_or_null<BoolAttr>(call.field("transpose_a"));
  double columns = extent(c, last);
  return Arithmetic::product(
      volume(c) / columns, columns,
      extent(a, transposed && transposed.getValue() ? inner - 1 : inner));
}

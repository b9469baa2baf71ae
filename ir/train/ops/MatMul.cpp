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

namespace {
/// Along what a product op(a) [.., m, k] * op(b) [.., k, n] is cut: the layer's
/// dimension of each leading axis, then of m, n and k, and into how many units;
/// an axis of `perUnit[i]` elements a unit.
struct ProductUnits {
  Axes axes;
  Shape extents, perUnit;
};
} // namespace

/// How many rows of a matrix are of one sample, if it is a reshape of tensors
/// [samples, ...]; else 1.
static int64_t rowsPerSample(Value matrix) {
  auto reshape = matrix.getDefiningOp<ReshapeOp>();
  ArrayRef<int64_t> x = reshape ? shapeOf(reshape.getX()) : shapeOf(matrix);
  int64_t rows = shapeOf(matrix)[0];
  return x.size() > 1 && x[0] > 1 && rows % x[0] == 0 ? rows / x[0] : 1;
}

/// Letters of `train.axes`, or "nck", name m, n and k. In a plain product they
/// are samples, channels and the reduction. Of a batch of matrices the first
/// axis is samples. If one b serves them all, its columns are channels and k is
/// the reduction; else the second one is channels, and of four dimensions, all
/// are as in images.
static ProductUnits productUnits(MatMulOp op) {
  ArrayRef<int64_t> result = shapeOf(op.getC()), a = shapeOf(op.getA());
  size_t leading = result.size() - 2;
  bool shared = shapeOf(op.getB()).size() == 2;
  auto attribute = op->getAttrOfType<StringAttr>(axesAttr);
  StringRef letters = attribute ? attribute.getValue() : "nck";
  ProductUnits units;
  units.axes.assign(leading, none);
  if (leading > 0)
    units.axes[0] = n;
  if (leading >= 2 && !shared)
    units.axes[1] = c;
  for (char letter : letters) {
    int dim = letter == 'n' ? n : letter == 'c' ? c : k;
    if (leading > 0 && shared)
      dim = dim == n ? none : dim;
    else if (leading > 0)
      dim = leading != 2 || dim == k ? none : dim == n ? h : w;
    units.axes.push_back(dim);
  }
  units.extents.assign(result.begin(), result.end());
  units.extents.push_back(op.getTransposeA() ? a[a.size() - 2] : a.back());
  units.perUnit.assign(units.extents.size(), 1);
  if (leading > 0)
    return units;
  if (units.axes[0] == n && !op.getTransposeA())
    units.perUnit[0] = rowsPerSample(op.getA());
  else if (units.axes[2] == n)
    units.perUnit[2] =
        std::max(op.getTransposeA() ? rowsPerSample(op.getA()) : 1,
                 op.getTransposeB() ? 1 : rowsPerSample(op.getB()));
  for (auto [extent, size] : llvm::zip_equal(units.extents, units.perUnit)) {
    size = extent % size ? 1 : size;
    extent /= size;
  }
  return units;
}

Grid MatMulOp::extents() {
  ProductUnits units = productUnits(*this);
  return tiling::extentsAlong(units.axes, units.extents);
}

Tile MatMulOp::tile(const Cuts &cuts, const Grid &index) {
  ProductUnits units = productUnits(*this);
  Box part = tiling::cut(units.axes, units.extents, cuts, index);
  for (auto [interval, size] : llvm::zip_equal(part, units.perUnit))
    interval = {interval.begin * size, interval.end * size};
  size_t leading = part.size() - 3;
  Interval rows = part[leading], columns = part[leading + 1],
           inner = part[leading + 2];
  auto matrix = [&](Value value, Interval first, Interval second,
                    bool transposed) {
    Box box;
    if (shapeOf(value).size() > 2)
      box.append(part.begin(), part.begin() + leading);
    box.push_back(transposed ? second : first);
    box.push_back(transposed ? first : second);
    return box;
  };
  Tile tile;
  tile.operands = {matrix(getA(), rows, inner, getTransposeA()),
                   matrix(getB(), inner, columns, getTransposeB())};
  int dim = units.axes.back();
  if (getBias())
    tile.operands.push_back(
        onFirst(Box{columns}, dim == none ? 0 : index[dim]));
  tile.results = {matrix(getC(), rows, columns, false)};
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

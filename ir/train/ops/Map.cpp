//===- Map.cpp - Elementwise ops ------------------------------------------===//
//
// Elementwise ops. A map's gradient comes from the elementwise table
// (Elementwise.h), and its tile reads what its region of the result needs.
// Dropout becomes a map in train-decompose; which maps become one is decided by
// train-fuse.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"
#include "ir/train/Expression.h"
#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  llvm::Expected<Expression> expr = Expression::parse(getExpr());
  if (!expr)
    return emitOpError() << llvm::toString(expr.takeError());
  if (expr->inputs() > getInputs().size())
    return emitOpError() << "expression uses x" << expr->inputs() - 1
                         << "; found " << getInputs().size() << " inputs";
  if (expr->drawsRandomNumbers() && !getScalars())
    return emitOpError() << "draws random numbers; expected scalars";
  ArrayRef<int64_t> result = shapeOf(getY());
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (broadcast({shapeOf(input), result}) != Dims(result))
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

OpFoldResult MapOp::fold(FoldAdaptor) {
  if (getExpr() == "x0" && getInputs()[0].getType() == getY().getType())
    return getInputs()[0];
  return {};
}

ArrayRef<StringRef> MapOp::fields() {
  // A kernel that draws random numbers is told its part of the tensor.
  static const StringRef list[] = {"begin", "dims"};
  return list;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// A map of the values that `expr` reads (input N is values[N]), in their given
/// order. If `expr` is just an input, that value and no map.
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
  // dy is the first input, so that the kernel's text begins with it.
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
    if (!needed[i] || row.gradients[i] == "-")
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
// Tiles
//===----------------------------------------------------------------------===//

/// The region of an operand, which is broadcast to the result, that a region of
/// the result needs.
static Box broadcastRegion(const Box &result, Value operand) {
  Box region = wholeOf(operand);
  for (auto [d, axis] : llvm::enumerate(region))
    if (axis.end != 1)
      axis = result[result.size() - region.size() + d];
  return region;
}

Grid MapOp::extents() { return extentsAlong(usualAxes(getY()), getY()); }

Tile MapOp::tile(const Cuts &cuts, const Grid &index) {
  Tile tile;
  Box out = cut(usualAxes(getY()), getY(), cuts, index);
  for (Value input : getInputs())
    tile.operands.push_back(broadcastRegion(out, input));
  if (getScalars())
    tile.operands.push_back(wholeOf(getScalars()));
  tile.results = {out};
  return tile;
}

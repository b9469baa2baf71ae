//===- ImportElementwise.cpp - Elementwise operators and softmax ----------===//
//
// Most elementwise operators need only a row of OnnxOpTable.cpp, which names a
// function of ir/train/Elementwise.h; the node's attributes are its parameters.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cfloat>
#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

LogicalResult lwcc::importUnary(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  SmallVector<std::pair<StringRef, double>> params;
  for (const AttributeSpec &spec : attributesOf(node.row())) {
    double otherwise = 0;
    bool bad = spec.otherwise.getAsDouble(otherwise);
    assert(!bad && "an elementwise row's attributes have defaults");
    (void)bad;
    params.emplace_back(spec.name, node.real(spec.name, float(otherwise)));
  }
  return node.result(0, node.map(node.row().map, {x}, params));
}

LogicalResult lwcc::importNary(NodeImporter &node) {
  Value y = node.live(0);
  for (unsigned i = 1; i < node.numInputs() && y; ++i) {
    Value x = node.live(i);
    if (!x)
      return failure();
    // The bias of a Linear on more than two dimensions is an Add.
    if (node.op() == "Add" && shapeOf(x).size() == 1 && node.fanInOf(y))
      node.setFreshUniform(x, node.fanInOf(y));
    if (node.op() == "Add" && shapeOf(y).size() == 1 && node.fanInOf(x))
      node.setFreshUniform(y, node.fanInOf(x));
    y = node.map(node.row().map, {y, x});
  }
  // The quotient of integers below 2^24 is rounded to the right side.
  if (y && node.op() == "Div" && (node.isWhole(0) || node.isWhole(1)))
    y = node.map("truncate", {y});
  if (y && node.op() == "Mean")
    y = node.map("mul", {y, node.splat(1.0 / node.numInputs())});
  return y ? node.result(0, y) : failure();
}

LogicalResult lwcc::importClip(NodeImporter &node) {
  FailureOr<double> low = node.scalar(1, "min"), high = node.scalar(2, "max");
  if (failed(low) || failed(high))
    return failure();
  Value x = node.live(0);
  if (!x || (std::isnan(*low) && std::isnan(*high)))
    return node.result(0, x);
  // Infinite bounds have no literal; the largest float bounds as much.
  auto finite = [](double bound, double otherwise) {
    return std::isnan(bound) ? otherwise
                             : std::clamp<double>(bound, -FLT_MAX, FLT_MAX);
  };
  return node.result(0, node.map("clip", {x},
                                 {{"lo", finite(*low, -FLT_MAX)},
                                  {"hi", finite(*high, FLT_MAX)}}));
}

LogicalResult lwcc::importPow(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  // The exponent may be an integer tensor, and is nearly always a constant.
  if (HostRef exponent = node.constant(1); exponent && exponent->isSplat()) {
    double value = exponent->at(0);
    if (value == 1 && exponent->size() == 1)
      return node.result(0, x);
    if (value == 2 && exponent->size() == 1)
      return node.result(0, node.map("square", {x}));
    if (value == 0.5 && exponent->size() == 1)
      return node.result(0, node.map("sqrt", {x}));
    return node.result(
        0, node.map("pow", {x, node.splat(value, exponent->shape)}));
  }
  Value exponent;
  if (HostRef whole = node.constant(1); whole && !whole->isReal()) {
    HostTensor reals = HostTensor::empty(HostTensor::Kind::real, whole->shape);
    reals.reals.assign(whole->integers.begin(), whole->integers.end());
    exponent = node.stored(std::move(reals));
  } else {
    exponent = node.live(1);
  }
  return exponent ? node.result(0, node.map("pow", {x, exponent})) : failure();
}

/// What remains of a division: with the divisor's sign, or by `fmod` the
/// dividend's.
LogicalResult lwcc::importMod(NodeImporter &node) {
  Value x = node.live(0), y = node.live(1);
  if (!x || !y)
    return failure();
  return node.result(
      0, node.map(node.integer("fmod", 0) ? "fmod" : "mod", {x, y}));
}

/// The condition is a tensor of truths (1 and 0), of the data or of the file.
LogicalResult lwcc::importWhere(NodeImporter &node) {
  Value condition = node.live(0), yes = node.live(1), no = node.live(2);
  if (!condition || !yes || !no)
    return failure();
  Value y = node.map("where", {condition, yes, no});
  return y ? node.result(0, y) : failure();
}

LogicalResult lwcc::importPRelu(NodeImporter &node) {
  Value x = node.live(0), slope = node.live(1);
  if (!x || !slope)
    return failure();
  if (broadcast(shapeOf(slope), shapeOf(x)) != Shape(shapeOf(x)))
    return node.fail("has slopes of shape " + printShape(shapeOf(slope)) +
                     " for data of shape " + printShape(shapeOf(x)));
  node.setFreshConstant(slope, 0.25);
  return node.result(0, node.map("prelu", {x, slope}));
}

/// Zeros above or below a diagonal of the last two dimensions.
LogicalResult lwcc::importTrilu(NodeImporter &node) {
  FailureOr<double> diagonal = node.scalar(1, "");
  if (failed(diagonal))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.size() < 2)
    return node.fail("needs matrices, not data of shape " + printShape(shape));
  double k = std::isnan(*diagonal) ? 0 : *diagonal;
  bool upper = node.integer("upper", 1) != 0;
  if (!rewrite::admitTable(node, shape[shape.size() - 2], shape.back()))
    return failure();
  HostTensor kept =
      HostTensor::empty(HostTensor::Kind::real, shape.take_back(2));
  for (int64_t row : seq<int64_t>(0, kept.shape[0]))
    for (int64_t column : seq<int64_t>(0, kept.shape[1]))
      kept.reals.push_back(upper ? double(column - row) >= k
                                 : double(column - row) <= k);
  Value mask = node.stored(std::move(kept));
  return mask ? node.result(0, node.map("where", {mask, x, node.splat(0)}))
              : failure();
}

LogicalResult lwcc::importGelu(NodeImporter &node) {
  StringRef approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.fail("has the unknown approximation '" + approximate + "'");
  Value x = node.live(0);
  return x ? node.result(
                 0, node.map(approximate == "tanh" ? "gelu_tanh" : "gelu", {x}))
           : failure();
}

LogicalResult lwcc::importSoftmax(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape shape(shapeOf(x));
  bool flattens = node.opset() < 13;
  FailureOr<int64_t> axis = node.axis(flattens ? 1 : -1, shape.size());
  if (failed(axis))
    return failure();
  bool log = node.op() == "LogSoftmax";
  // Before opset 13 the axis and all behind it are one; that differs only if
  // there is something behind it.
  if (flattens && *elementCount(ArrayRef(shape).drop_front(*axis + 1)) != 1) {
    std::string error;
    std::optional<Shape> flat = flattenedShape(shape, *axis, error);
    Value y = node.reshape(x, *flat);
    y = node.create<train::SoftmaxOp>(y.getType(), y, 1, log);
    return node.result(0, node.reshape(y, shape));
  }
  Value y = node.create<train::SoftmaxOp>(x.getType(), x, *axis, log);
  return node.result(0, y);
}

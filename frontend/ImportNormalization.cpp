//===- ImportNormalization.cpp - Operators that normalize -----------------===//
//
// Batch normalization with running statistics, local response normalization and
// what normalizes rows along the last dimension have ops of their own. All
// others are composed of reductions and maps.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

LogicalResult lwcc::importLrn(NodeImporter &node) {
  Value data = node.live(0);
  if (!data)
    return failure();
  int64_t size = node.integer("size", 0);
  if (size < 1 || size > 1 << 20 || shapeOf(data).size() < 3)
    return node.fail("needs a size of at least 1 and data [n, c, ...]");
  Value y = node.create<train::LrnOp>(data.getType(), data,
                                      APFloat(node.real("alpha", 1e-4f)),
                                      APFloat(node.real("beta", 0.75f)),
                                      APFloat(node.real("bias", 1.0f)), size);
  return node.result(0, y);
}

//===----------------------------------------------------------------------===//
// Normalization of samples
//===----------------------------------------------------------------------===//

/// x less its mean over ascending axes, times 1 / sqrt(variance + epsilon).
/// `mean` and `scale` are what it was made with, of extent 1 along the axes.
static Value normalize(NodeImporter &node, Value x, ArrayRef<int64_t> axes,
                       bool center, Value &mean, Value &scale) {
  if (center) {
    mean = rewrite::reduceKept(node, x, axes, true);
    x = node.map("sub", {x, mean});
  }
  Value variance =
      rewrite::reduceKept(node, node.map("square", {x}), axes, true);
  scale = node.map("rsqrt_eps", {variance},
                   {{"epsilon", node.real("epsilon", 1e-5f)}});
  return node.map("mul", {x, scale});
}

/// y * scale + bias, or the first alone; null after reporting. The weights
/// begin as ones and zeros.
static Value scaleAndShift(NodeImporter &node, Value y, Value scale,
                           Value bias) {
  if (!scale)
    return {};
  node.setFreshConstant(scale, 1);
  y = node.map("mul", {y, scale});
  if (!bias || !y)
    return y;
  node.setFreshConstant(bias, 0);
  return node.map("add", {y, bias});
}

/// BatchNormalization whose mean and variance the graph computes: PyTorch's of
/// a weight that is standardized, or without running statistics. There are none
/// to keep then, and it is the formula.
static LogicalResult importComputedStatistics(NodeImporter &node, Value x,
                                              Value weight, Value bias,
                                              Value mean, Value variance) {
  Shape shape(shapeOf(x)), channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  for (Value *operand : {&weight, &bias, &mean, &variance})
    *operand = node.reshape(*operand, channels);
  Value y, scale;
  if (node.integer("training_mode", 0)) { // given ones are only updated
    Shape axes = to_vector(seq<int64_t>(0, shape.size()));
    axes.erase(axes.begin() + 1);
    y = normalize(node, x, axes, true, mean, scale);
  } else {
    scale = node.map("rsqrt_eps", {variance},
                     {{"epsilon", node.real("epsilon", 1e-5f)}});
    y = node.map("mul", {node.map("sub", {x, mean}), scale});
  }
  return node.result(0, scaleAndShift(node, y, weight, bias));
}

/// Whether a value is read from the file as it is.
static bool isStored(Value value) {
  return bool(value.getDefiningOp<train::ReadOp>());
}

LogicalResult lwcc::importBatchNorm(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  if (x.size() < 2)
    return node.fail("normalizes data of shape " + printShape(x) +
                     "; [n, c, ...] is needed");
  if (node.integer("spatial", 1) != 1)
    return node.fail("has spatial=0, statistics per element; that is not "
                     "supported");
  for (unsigned i = 1; i < node.numOutputs(); ++i)
    if (node.isUsed(i))
      return node.fail("has output '" + node.output(i) +
                       "' that is used; only "
                       "the normalized data may be");
  SmallVector<Value> operands;
  for (unsigned i = 0; i < 5; ++i) {
    Value operand = node.live(i);
    if (!operand)
      return failure();
    if (i > 0 && (shapeOf(operand).size() != 1 || shapeOf(operand)[0] != x[1]))
      return node.fail("has '" + node.input(i) + "' of shape " +
                       printShape(shapeOf(operand)) + " for " + Twine(x[1]) +
                       " channels");
    operands.push_back(operand);
  }
  if (none_of(ArrayRef(operands).drop_front(3), isStored))
    return importComputedStatistics(node, operands[0], operands[1], operands[2],
                                    operands[3], operands[4]);
  for (unsigned i = 1; i < 5; ++i) {
    if (i > 2 && !isStored(operands[i]))
      return node.fail("computes its running " +
                       Twine(i == 3 ? "mean" : "variance") + " '" +
                       node.input(i) + "'; both must be stored in the file");
    // scale 1, bias 0, mean 0, variance 1
    node.setFreshConstant(operands[i], i == 1 || i == 4);
  }
  Type type = operands[0].getType(), channels = node.tensorOf({x[1]});
  Type statistics = train::statisticsType(operands[0], /*groups=*/0);
  auto norm = node.create<train::BatchNormOp>(
      TypeRange{type, statistics, statistics, channels, channels}, operands[0],
      operands[1], operands[2], operands[3], operands[4],
      APFloat(node.real("epsilon", 1e-5f)),
      APFloat(node.real("momentum", 0.9f)));
  std::string base = node.output().str();
  std::string names[] = {base + ".mean", base + ".invstd", base + ".new_mean",
                         base + ".new_variance"};
  train::setNames(norm,
                  {node.output(), names[0], names[1], names[2], names[3]});
  return node.result(0, norm.getY());
}

/// Whether there is a kernel that normalizes from the axis on: along the last
/// dimension, with no gradient through statistics. Not of images, which lie
/// channels-last: there reductions read what is side by side.
static bool isOneCall(NodeImporter &node, Value x, int64_t axis) {
  int64_t rank = shapeOf(x).size();
  return axis == rank - 1 && rank != 4 && !node.isUsed(1) && !node.isUsed(2);
}

static Value normalizeRows(NodeImporter &node, Value x, bool center) {
  Shape statistics(shapeOf(x));
  statistics.back() = 1;
  return node
      .create<train::LayerNormOp>(
          TypeRange{x.getType(), node.tensorOf(statistics)}, x, center,
          APFloat(node.real("epsilon", 1e-5f)))
      .getY();
}

/// LayerNormalization and RMSNormalization: over the axis and all behind it.
LogicalResult lwcc::importLayerNorm(NodeImporter &node) {
  bool center = node.op() == "LayerNormalization";
  Value x = node.live(0), weight = node.live(1), bias;
  bool biased = node.hasInput(2) && !node.isZero(2);
  if (biased)
    bias = node.live(2);
  if (!x || !weight || (biased && !bias))
    return failure();
  Shape shape(shapeOf(x));
  FailureOr<int64_t> axis = node.axis(-1, shape.size());
  if (failed(axis))
    return failure();
  for (Value operand : {weight, bias})
    if (operand && broadcast(shapeOf(operand), shape) != shape)
      return node.fail("has weights of shape " + printShape(shapeOf(operand)) +
                       " for data of shape " + printShape(shape));
  Value mean, scale, y;
  if (isOneCall(node, x, *axis))
    y = normalizeRows(node, x, center);
  else
    y = normalize(node, x, to_vector(seq<int64_t>(*axis, shape.size())), center,
                  mean, scale);
  y = scaleAndShift(node, y, weight, bias);
  if (failed(node.result(0, y)))
    return failure();
  if (center && node.isUsed(1) && failed(node.result(1, mean)))
    return failure();
  return node.isUsed(2) ? node.result(2, scale) : success();
}

/// InstanceNormalization: each channel of each sample.
LogicalResult lwcc::importInstanceNorm(NodeImporter &node) {
  Value x = node.live(0), weight = node.live(1), bias = node.live(2);
  if (!x || !weight || !bias)
    return failure();
  Shape shape(shapeOf(x));
  if (shape.size() < 3)
    return node.fail("normalizes data of shape " + printShape(shape) +
                     "; [n, c, ...] is needed");
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  for (Value *operand : {&weight, &bias}) {
    if (shapeOf(*operand) != ArrayRef<int64_t>{shape[1]})
      return node.fail("has weights of shape " + printShape(shapeOf(*operand)) +
                       " for " + Twine(shape[1]) + " channels");
    *operand = node.reshape(*operand, channels);
  }
  Value mean, scale;
  Value y = normalize(node, x, to_vector(seq<int64_t>(2, shape.size())), true,
                      mean, scale);
  return node.result(0, scaleAndShift(node, y, weight, bias));
}

/// GroupNormalization: groups of channels of each sample. Its weights are one
/// for each group before opset 21, and one for each channel since.
LogicalResult lwcc::importGroupNorm(NodeImporter &node) {
  Value x = node.live(0), weight = node.live(1), bias = node.live(2);
  if (!x || !weight || !bias)
    return failure();
  Shape shape(shapeOf(x));
  int64_t groups = node.integer("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups)
    return node.fail("normalizes data of shape " + printShape(shape) + " in " +
                     Twine(groups) + " groups, which do not fit it");
  bool perGroup = node.opset() < 21;
  int64_t count = perGroup ? groups : shape[1];
  // Four dimensions, so that the op is cut as images are.
  Shape rows = {shape[0], groups, *elementCount(shape) / shape[0] / groups, 1};
  Shape channels(perGroup ? 3 : shape.size() - 1, 1);
  channels[0] = count;
  for (Value *operand : {&weight, &bias}) {
    if (shapeOf(*operand) != ArrayRef<int64_t>{count})
      return node.fail("has weights of shape " + printShape(shapeOf(*operand)) +
                       " where " + Twine(count) + " numbers are needed");
    *operand = node.reshape(*operand, channels);
  }
  Value mean, scale;
  Value y = normalize(node, node.reshape(x, rows), {2}, true, mean, scale);
  if (perGroup)
    y = scaleAndShift(node, y, weight, bias);
  y = y ? node.reshape(y, shape) : y;
  if (!perGroup)
    y = scaleAndShift(node, y, weight, bias);
  return node.result(0, y);
}

/// MeanVarianceNormalization, whose default is that of each channel over the
/// batch: the statistics of evaluation are the batch's, too.
LogicalResult lwcc::importMeanVarianceNorm(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  std::string error;
  std::optional<Shape> axes =
      normalizeAxes(node.NodeView::integers("axes").value_or(Shape{0, 2, 3}),
                    shapeOf(x).size(), error);
  if (!axes)
    return node.fail(error);
  llvm::sort(*axes);
  Value mean = rewrite::reduceKept(node, x, *axes, true);
  Value centered = node.map("sub", {x, mean});
  Value variance =
      rewrite::reduceKept(node, node.map("square", {centered}), *axes, true);
  Value deviation =
      node.map("offset", {node.map("sqrt", {variance})}, {{"beta", 1e-9}});
  return node.result(0, node.map("div", {centered, deviation}));
}

/// x / (sum of |x|^p)^(1/p) along an axis, where that is not zero.
LogicalResult lwcc::importLpNorm(NodeImporter &node) {
  int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2)
    return node.fail("has p=" + Twine(p) + "; 1 and 2 are what ONNX knows");
  Value x = node.live(0);
  if (!x)
    return failure();
  FailureOr<int64_t> axis = node.axis(-1, shapeOf(x).size());
  if (failed(axis))
    return failure();
  Value sum = rewrite::reduceKept(
      node, node.map(p == 1 ? "abs" : "square", {x}), {*axis}, false);
  // Chosen before the root, whose slope at zero is infinite.
  Value zero = node.map("equal", {sum, node.splat(0)});
  sum = node.map("where", {zero, node.splat(1), sum});
  return node.result(
      0, node.map("div", {x, p == 1 ? sum : node.map("sqrt", {sum})}));
}

//===- ImportConv.cpp - Convolution, pooling, normalization ---------------===//
//
// The operators on images [n, c, h, w]. ONNX may state padding indirectly
// (auto_pad, ceil_mode); here it becomes numbers, which the train ops carry.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
/// A window over height and width; `output` has the extents of the result.
struct Window {
  Shape kernel, stride, dilation, pad, output;
};
} // namespace

/// Reads the attributes that Conv and the pools share. Fails, reported, if they
/// make no sense for `input` (h, w).
static FailureOr<Window> readWindow(NodeImporter &node, ArrayRef<int64_t> input,
                                    Shape kernel) {
  Window window;
  window.kernel = kernel;
  auto pair = [&](StringRef name) {
    return node.NodeView::integers(name).value_or(Shape{1, 1});
  };
  window.stride = pair("strides");
  window.dilation = pair("dilations");
  window.pad = node.NodeView::integers("pads").value_or(Shape{0, 0, 0, 0});
  auto within = [](ArrayRef<int64_t> values, int64_t low) {
    return all_of(values, [&](int64_t v) { return v >= low && v < 1 << 20; });
  };
  if (window.kernel.size() != 2 || window.stride.size() != 2 ||
      window.dilation.size() != 2 || window.pad.size() != 4)
    return node.fail("needs kernel_shape, strides and dilations of two numbers "
                     "and pads of four");
  if (!within(window.kernel, 1) || !within(window.stride, 1) ||
      !within(window.dilation, 1) || !within(window.pad, 0))
    return node.fail("has a kernel, stride or dilation below 1 or a negative "
                     "pad");

  StringRef mode = node.text("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "" && mode != "VALID")
    return node.fail("has the unknown auto_pad '" + mode + "'");
  if (mode == "VALID")
    window.pad.assign(4, 0);
  bool ceilMode = node.integer("ceil_mode", 0) != 0;
  for (int d : {0, 1}) {
    int64_t span = window.dilation[d] * (window.kernel[d] - 1) + 1;
    int64_t stride = window.stride[d];
    if (same) {
      int64_t output = divideCeil(input[d], stride);
      int64_t total =
          std::max<int64_t>(0, (output - 1) * stride + span - input[d]);
      int64_t small = total / 2;
      window.pad[d] = mode == "SAME_UPPER" ? small : total - small;
      window.pad[d + 2] = total - window.pad[d];
    }
    int64_t free = input[d] + window.pad[d] + window.pad[d + 2] - span;
    if (free < 0)
      return node.fail("has a window of " + Twine(span) +
                       " over a padded extent of " + Twine(free + span) +
                       "; the input image is too small for this model");
    int64_t output =
        (ceilMode && !same ? divideCeil(free, stride) : free / stride) + 1;
    // As in PyTorch, a window must start inside the input or its left padding.
    if (ceilMode && (output - 1) * stride >= input[d] + window.pad[d])
      --output;
    window.output.push_back(output);
  }
  return window;
}

LogicalResult lwcc::importConv(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  if (x.size() != 4 || w.size() != 4)
    return node.fail("convolves data of shape " + printShape(x) +
                     " with weights of shape " + printShape(w) +
                     "; only 2-D convolutions are supported (a 1-D one can be "
                     "written as a 2-D one of height 1)");
  int64_t group = node.integer("group", 1);
  if (group < 1 || x[1] % group || w[0] % group || w[1] != x[1] / group)
    return node.fail("has weights of shape " + printShape(w) + " and " +
                     Twine(group) + " groups, which do not fit data of shape " +
                     printShape(x));
  Shape kernel(w.drop_front(2));
  if (std::optional<Shape> stated = node.NodeView::integers("kernel_shape");
      stated && *stated != kernel)
    return node.fail("has kernel_shape " + printShape(*stated) +
                     ", but weights of shape " + printShape(w));
  FailureOr<Window> window = readWindow(node, x.drop_front(2), kernel);
  if (failed(window))
    return failure();
  Value data = node.live(0), weights = node.live(1), bias;
  bool biased = !node.isZero(2);
  if (biased) {
    bias = node.live(2);
    if (bias && (shapeOf(bias).size() != 1 || shapeOf(bias)[0] != w[0]))
      return node.fail("has a bias of shape " + printShape(shapeOf(bias)) +
                       " for " + Twine(w[0]) + " output channels");
  }
  if (!data || !weights || (biased && !bias))
    return failure();
  int64_t fanIn = w[1] * w[2] * w[3];
  node.setFreshUniform(weights, fanIn);
  if (bias)
    node.setFreshUniform(bias, fanIn);
  auto type = node.tensorOf({x[0], w[0], window->output[0], window->output[1]});
  Value y =
      node.create<train::ConvOp>(type, data, weights, bias, window->dilation,
                                 group, window->pad, window->stride);
  return node.result(0, y);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static LogicalResult createMaxPool(NodeImporter &node, Value data,
                                   const Window &window) {
  ArrayRef<int64_t> x = shapeOf(data);
  Shape shape = {x[0], x[1], window.output[0], window.output[1]};
  OpBuilder &builder = node.builder();
  Type tap = window.kernel[0] * window.kernel[1] <= 256
                 ? Type(builder.getIntegerType(8, /*isSigned=*/false))
                 : Type(builder.getI32Type());
  auto pool = node.create<train::MaxPoolOp>(
      node.tensorOf(shape), RankedTensorType::get(shape, tap), data,
      window.dilation, window.kernel, window.pad, window.stride);
  std::string index = (node.output() + ".index").str();
  train::setNames(pool, {node.output(), index});
  return node.result(0, pool.getY());
}

LogicalResult lwcc::importPool(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  if (x.size() != 4)
    return node.fail("pools data of shape " + printShape(x) +
                     "; only 2-D pooling is supported");
  if (node.isUsed(1))
    return node.fail("has a second output, the indices of the maxima, that is "
                     "used (by unpooling); that is not supported");
  FailureOr<Window> window =
      readWindow(node, x.drop_front(2),
                 node.NodeView::integers("kernel_shape").value_or(Shape()));
  if (failed(window))
    return failure();
  for (int d : {0, 1})
    if (std::max(window->pad[d], window->pad[d + 2]) >=
        window->dilation[d] * (window->kernel[d] - 1) + 1)
      return node.fail(
          "has padding as wide as its window, so that some windows "
          "hold no data");
  Value data = node.live(0);
  if (!data)
    return failure();
  if (node.op() == "MaxPool")
    return createMaxPool(node, data, *window);
  auto type = node.tensorOf({x[0], x[1], window->output[0], window->output[1]});
  Value y = node.create<train::AvgPoolOp>(
      type, data, node.integer("count_include_pad", 0) != 0, window->dilation,
      window->kernel, window->pad, window->stride);
  return node.result(0, y);
}

LogicalResult lwcc::importGlobalPool(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  bool average = node.op() == "GlobalAveragePool";
  if (x.size() < 3 || (!average && x.size() != 4))
    return node.fail("pools data of shape " + printShape(x) +
                     "; [n, c, h, w] is needed");
  Value data = node.live(0);
  if (!data)
    return failure();
  if (!average)
    return createMaxPool(
        node, data,
        Window{Shape(x.drop_front(2)), {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  Shape shape(x.size(), 1);
  shape[0] = x[0];
  shape[1] = x[1];
  Value y = node.create<train::ReduceOp>(
      node.tensorOf(shape), data, to_vector(seq<int64_t>(2, x.size())), true);
  return node.result(0, y);
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

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
    if (i > 2 && !operand.getDefiningOp<train::ReadOp>())
      return node.fail("computes its running " +
                       Twine(i == 3 ? "mean" : "variance") + " '" +
                       node.input(i) + "'; it must be stored in the file");
    if (i > 0) // scale 1, bias 0, mean 0, variance 1
      node.setFreshConstant(operand, i == 1 || i == 4);
    operands.push_back(operand);
  }
  Type type = operands[0].getType(), channels = node.tensorOf({x[1]});
  auto norm = node.create<train::BatchNormOp>(
      TypeRange{type, channels, channels, channels, channels}, operands[0],
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

//===- ImportConv.cpp - Convolutions --------------------------------------===//
//
// Conv, ConvTranspose and Col2Im. The train ops are those on images
// [n, c, h, w]. In one dimension an image has height 1. In three, the planes
// that a window covers become channels of one plane, whose convolution sums
// over them, too.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/Window.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// [n, c, ...] with a height of 1 if it has one spatial dimension.
static Value asImage(NodeImporter &node, Value x) {
  Shape shape(shapeOf(x));
  if (shape.size() == 3)
    shape.insert(shape.begin() + 2, 1);
  return node.reshape(x, shape);
}

/// The kernel that the weights have. Fails, reported, if the node states
/// another.
static FailureOr<Shape> readKernel(NodeImporter &node) {
  ArrayRef<int64_t> w = node.shape(1);
  Shape kernel(w.drop_front(2));
  if (std::optional<Shape> stated = node.NodeView::integers("kernel_shape");
      stated && *stated != kernel)
    return node.fail("has kernel_shape " + printShape(*stated) +
                     ", but weights of shape " + printShape(w));
  return kernel;
}

namespace {
/// Data, weights and bias of a convolution; `bias` is null where it has none.
struct ConvInputs {
  Value data, weights, bias;
};
} // namespace

static FailureOr<ConvInputs> readConvInputs(NodeImporter &node, int64_t outputs,
                                            int64_t fanIn) {
  ConvInputs in{node.live(0), node.live(1), {}};
  bool biased = !node.isZero(2);
  if (biased) {
    in.bias = node.live(2);
    if (in.bias && shapeOf(in.bias) != ArrayRef<int64_t>{outputs})
      return node.fail("has a bias of shape " + printShape(shapeOf(in.bias)) +
                       " for " + Twine(outputs) + " output channels");
  }
  if (!in.data || !in.weights || (biased && !in.bias))
    return failure();
  node.setFreshUniform(in.weights, fanIn);
  if (in.bias)
    node.setFreshUniform(in.bias, fanIn);
  return in;
}

/// The convolution of images; window over height and width.
static Value convolve(NodeImporter &node, const ConvInputs &in,
                      const Window &window, int64_t group) {
  ArrayRef<int64_t> x = shapeOf(in.data), w = shapeOf(in.weights);
  auto type = node.tensorOf({x[0], w[0], window.output[0], window.output[1]});
  return node.create<train::ConvOp>(type, in.data, in.weights, in.bias,
                                    window.dilation, group, window.pad,
                                    window.stride);
}

/// A convolution in three dimensions, as one of images: those at each output
/// depth have the planes of the window as channels, in the weights' order.
static Value convolveDepth(NodeImporter &node, ConvInputs in,
                           const Window &window, int64_t group) {
  Shape x(shapeOf(in.data)), w(shapeOf(in.weights));
  int64_t taps = w[2], depth = window.output[0], stride = window.stride[0];
  Shape low(5, 0), padded = x;
  low[2] = window.pad[0];
  padded[2] += window.pad[0] + window.pad[3];
  if (!elementCount(padded)) {
    (void)node.fail("pads data to the shape " + printShape(padded) +
                    ", which is too large");
    return {};
  }
  if (padded != x)
    in.data = node.create<train::PadOp>(node.tensorOf(padded), in.data, low,
                                        APFloat(0.0f));
  SmallVector<Value> planes;
  for (int64_t tap = 0; tap < taps; ++tap)
    planes.push_back(
        node.reshape(rewrite::slice(node, in.data, 2, tap * window.dilation[0],
                                    depth, stride),
                     {x[0], x[1], 1, depth, x[3], x[4]}));
  Value frames = rewrite::transpose(node, rewrite::concat(node, planes, 2),
                                    {0, 3, 1, 2, 4, 5});
  in.data = node.reshape(frames, {x[0] * depth, x[1] * taps, x[3], x[4]});
  in.weights = node.reshape(in.weights, {w[0], w[1] * taps, w[3], w[4]});
  Value y = convolve(node, in, window.part(1, 2), group);
  y = node.reshape(y, {x[0], depth, w[0], window.output[1], window.output[2]});
  return rewrite::transpose(node, y, {0, 2, 1, 3, 4});
}

LogicalResult lwcc::importConv(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  if (x.size() != w.size() || x.size() < 3 || x.size() > 5)
    return node.fail("convolves data of shape " + printShape(x) +
                     " with weights of shape " + printShape(w) +
                     "; convolutions in one to three dimensions are supported");
  int64_t group = node.integer("group", 1);
  if (group < 1 || x[1] % group || w[0] % group || w[1] != x[1] / group)
    return node.fail("has weights of shape " + printShape(w) + " and " +
                     Twine(group) + " groups, which do not fit data of shape " +
                     printShape(x));
  FailureOr<Shape> kernel = readKernel(node);
  if (failed(kernel))
    return failure();
  FailureOr<Window> window = readWindow(node, x.drop_front(2), *kernel);
  if (failed(window))
    return failure();
  int64_t fanIn = *elementCount(w.drop_front());
  FailureOr<ConvInputs> in = readConvInputs(node, w[0], fanIn);
  if (failed(in))
    return failure();
  if (x.size() == 5)
    return node.result(0, convolveDepth(node, *in, *window, group));
  bool flat = x.size() == 3;
  in->data = asImage(node, in->data);
  in->weights = asImage(node, in->weights);
  Value y = convolve(node, *in, flat ? window->withHeight() : *window, group);
  if (flat)
    y = node.reshape(y, {x[0], w[0], window->output[0]});
  return node.result(0, y);
}

/// The transpose of a convolution of images is what its data gradient computes;
/// w is [c, outputs of a group, height, width].
static Value transposeConv(NodeImporter &node, const ConvInputs &in,
                           const Window &window, int64_t group) {
  ArrayRef<int64_t> x = shapeOf(in.data), w = shapeOf(in.weights);
  auto type =
      node.tensorOf({x[0], w[1] * group, window.output[0], window.output[1]});
  return node.create<train::ConvGradInputOp>(type, in.data, in.weights,
                                             window.dilation, group, window.pad,
                                             window.stride);
}

/// A transposed convolution in three dimensions, as one of images, whose output
/// channels are those of all planes of the window. What each of them gives is
/// spread over the depths of the output, and added.
static Value transposeConvDepth(NodeImporter &node, ConvInputs in,
                                const Window &window, int64_t group) {
  Shape x(shapeOf(in.data)), w(shapeOf(in.weights));
  int64_t taps = w[2], depth = x[2], stride = window.stride[0];
  int64_t outputs = w[1] * group, h = window.output[1], v = window.output[2];
  in.data = node.reshape(rewrite::transpose(node, in.data, {0, 2, 1, 3, 4}),
                         {x[0] * depth, x[1], x[3], x[4]});
  in.weights = node.reshape(in.weights, {w[0], w[1] * taps, w[3], w[4]});
  Value frames = node.reshape(transposeConv(node, in, window.part(1, 2), group),
                              {x[0], depth, outputs, taps, h, v});
  frames = rewrite::transpose(node, frames, {0, 2, 3, 1, 4, 5});
  Value sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value planes = node.reshape(rewrite::slice(node, frames, 2, tap, 1),
                                {x[0], outputs, depth, 1, h, v});
    auto pad = [&](Value value, size_t axis, int64_t low, int64_t extent) {
      Shape shape(shapeOf(value)), before(shape.size(), 0);
      before[axis] = low;
      shape[axis] = extent;
      return Value(node.create<train::PadOp>(node.tensorOf(shape), value,
                                             before, APFloat(0.0f)));
    };
    if (stride > 1)
      planes = pad(planes, 3, 0, stride);
    planes = node.reshape(planes, {x[0], outputs, depth * stride, h, v});
    planes = pad(planes, 2, tap * window.dilation[0] - window.pad[0],
                 window.output[0]);
    sum = sum ? node.map("add", {sum, planes}) : planes;
  }
  return sum;
}

LogicalResult lwcc::importConvTranspose(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1);
  if (x.size() != w.size() || x.size() < 3 || x.size() > 5)
    return node.fail("has data of shape " + printShape(x) +
                     " and weights of shape " + printShape(w) +
                     "; transposed convolutions in one to three dimensions "
                     "are supported");
  int64_t group = node.integer("group", 1);
  if (group < 1 || w[0] != x[1] || w[0] % group)
    return node.fail("has weights of shape " + printShape(w) + " and " +
                     Twine(group) + " groups, which do not fit data of shape " +
                     printShape(x));
  FailureOr<Shape> kernel = readKernel(node);
  if (failed(kernel))
    return failure();
  FailureOr<Window> window =
      readTransposedWindow(node, x.drop_front(2), *kernel);
  if (failed(window))
    return failure();
  // PyTorch counts the weights' second dimension.
  int64_t outputs = w[1] * group, fanIn = *elementCount(w.drop_front());
  FailureOr<ConvInputs> in = readConvInputs(node, outputs, fanIn);
  if (failed(in))
    return failure();
  bool flat = x.size() == 3;
  Value y;
  if (x.size() == 5) {
    y = transposeConvDepth(node, *in, *window, group);
  } else {
    in->data = asImage(node, in->data);
    in->weights = asImage(node, in->weights);
    y = transposeConv(node, *in, flat ? window->withHeight() : *window, group);
  }
  if (in->bias) {
    Shape channels(shapeOf(y).size() - 1, 1);
    channels[0] = outputs;
    y = node.map("add", {y, node.reshape(in->bias, channels)});
  }
  if (flat)
    y = node.reshape(y, {x[0], outputs, window->output[0]});
  return node.result(0, y);
}

/// Blocks [n, c * taps, number] that are added where they lie in an image
/// (PyTorch's Fold): a transposed convolution, whose weights say which channel
/// is which tap.
LogicalResult lwcc::importCol2Im(NodeImporter &node) {
  FailureOr<std::optional<Shape>> image = node.integers(1, ""),
                                  block = node.integers(2, "");
  if (failed(image) || failed(block))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  auto isExtent = [](int64_t extent) { return extent > 0 && extent < 1 << 20; };
  if (!*image || !*block || (*image)->size() != 2 || (*block)->size() != 2 ||
      from.size() != 3 || !all_of(**image, isExtent))
    return node.fail("makes images of shape " +
                     printShape(image->value_or(Shape())) +
                     " of data of shape " + printShape(from) +
                     "; two dimensions are supported");
  FailureOr<Window> window = readWindow(node, **image, **block);
  if (failed(window))
    return failure();
  std::optional<int64_t> taps = elementCount(window->kernel),
                         blocks = elementCount(window->output);
  if (!taps || blocks != from[2] || from[1] % *taps != 0)
    return node.fail("has data of shape " + printShape(from) +
                     ", which are not the blocks of " +
                     printShape(window->kernel) + " of an image of " +
                     printShape(**image));
  if (!rewrite::admitTable(node, from[1], *taps))
    return failure();
  HostTensor weights =
      HostTensor::empty(HostTensor::Kind::real,
                        {from[1], 1, window->kernel[0], window->kernel[1]});
  weights.reals.assign(from[1] * *taps, 0.0f);
  for (int64_t channel = 0; channel < from[1]; ++channel)
    weights.reals[channel * *taps + channel % *taps] = 1;
  Value w = node.stored(std::move(weights));
  if (!w)
    return failure();
  Value blocksOf =
      node.reshape(x, {from[0], from[1], window->output[0], window->output[1]});
  window->output = **image;
  return node.result(
      0, transposeConv(node, {blocksOf, w, {}}, *window, from[1] / *taps));
}

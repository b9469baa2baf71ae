//===- ImportPool.cpp - Pools ---------------------------------------------===//
//
// Pools by windows and over whole images. The train ops are those on images
// [n, c, h, w]. In one dimension an image has height 1. In three, planes are
// pooled first, then the depth: a maximum of maxima and, since windows and what
// they leave out are boxes, a mean of means are exact.
//
//===----------------------------------------------------------------------===//

#include "frontend/Metadata.h"
#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/Window.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

static Value maxPool(NodeImporter &node, Value x, const Window &window) {
  ArrayRef<int64_t> from = shapeOf(x);
  Shape shape = {from[0], from[1], window.output[0], window.output[1]};
  OpBuilder &builder = node.builder();
  Type tap = window.kernel[0] * window.kernel[1] <= 256
                 ? Type(builder.getIntegerType(8, /*isSigned=*/false))
                 : Type(builder.getI32Type());
  auto pool = node.create<train::MaxPoolOp>(
      node.tensorOf(shape), RankedTensorType::get(shape, tap), x,
      window.dilation, window.kernel, window.pad, window.stride);
  std::string index = (node.output() + ".index").str();
  train::setNames(pool, {node.output(), index});
  return pool.getY();
}

/// What PyTorch divides a window's sum by, if the node does not say it.
static std::optional<int64_t> divisorOf(const NodeImporter &node) {
  return node.op() == "AveragePool" ? exportedDivisor(node.proto())
                                    : std::nullopt;
}

/// Pools images [n, c, h, w] as the node says. A mean for another divisor is
/// one over whole windows.
static Value poolImages(NodeImporter &node, Value x, const Window &window) {
  if (node.op() == "MaxPool" || node.op() == "GlobalMaxPool")
    return maxPool(node, x, window);
  ArrayRef<int64_t> from = shapeOf(x);
  return node.create<train::AvgPoolOp>(
      node.tensorOf({from[0], from[1], window.output[0], window.output[1]}), x,
      node.integer("count_include_pad", 0) != 0 || divisorOf(node),
      window.dilation, window.kernel, window.pad, window.stride);
}

/// Pools [n, c, ...] of one to three spatial dimensions.
static Value pool(NodeImporter &node, Value x, const Window &window) {
  Shape from(shapeOf(x));
  int64_t n = from[0], c = from[1];
  Shape shape = {n, c};
  append_range(shape, window.output);
  if (window.rank() == 2)
    return poolImages(node, x, window);
  if (window.rank() == 1) {
    x = node.reshape(x, {n, c, 1, from[2]});
    return node.reshape(poolImages(node, x, window.withHeight()), shape);
  }
  x = node.reshape(x, {n, c * from[2], from[3], from[4]});
  x = poolImages(node, x, window.part(1, 2));
  int64_t positions = window.output[1] * window.output[2];
  x = node.reshape(x, {n, c, from[2], positions});
  Window depth = window.part(0, 1);
  for (Shape *list : {&depth.kernel, &depth.stride, &depth.dilation})
    list->push_back(1);
  depth.output.push_back(positions);
  depth.pad = {depth.pad[0], 0, depth.pad[1], 0};
  return node.reshape(poolImages(node, x, depth), shape);
}

LogicalResult lwcc::importPool(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  if (x.size() < 3 || x.size() > 5)
    return node.fail("pools data of shape " + printShape(x) +
                     "; pools in one to three dimensions are supported");
  if (node.isUsed(1))
    return node.fail("has a second output, the indices of the maxima, that is "
                     "used (by unpooling); that is not supported");
  FailureOr<Window> window =
      readWindow(node, x.drop_front(2),
                 node.NodeView::integers("kernel_shape").value_or(Shape()));
  if (failed(window))
    return failure();
  size_t rank = window->rank();
  for (size_t d = 0; d < rank; ++d)
    if (std::max(window->pad[d], window->pad[d + rank]) >= window->span(d))
      return node.fail(
          "has padding as wide as its window, so that some windows "
          "hold no data");
  const std::optional<int64_t> divisor = divisorOf(node);
  if (divisor && node.integer("ceil_mode", 0))
    return node.fail("was exported from a pool with divisor_override and "
                     "ceil_mode, which are not supported together");
  Value data = node.live(0);
  if (!data)
    return failure();
  Value y = pool(node, data, *window);
  if (divisor) {
    const double elements = product_of(window->kernel);
    y = node.map("scale", {y}, {{"alpha", elements / double(*divisor)}});
  }
  return node.result(0, y);
}

LogicalResult lwcc::importGlobalPool(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  if (x.size() < 3)
    return node.fail("pools data of shape " + printShape(x) +
                     "; [n, c, ...] is needed");
  Value data = node.live(0);
  if (!data)
    return failure();
  if (node.op() == "GlobalMaxPool" && x.size() == 4)
    return node.result(
        0,
        maxPool(
            node, data,
            Window{
                Shape(x.drop_front(2)), {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}}));
  Shape axes = to_vector(seq<int64_t>(2, x.size()));
  Value y = node.op() == "GlobalMaxPool"
                ? rewrite::maximumKept(node, data, axes)
                : rewrite::reduceKept(node, data, axes, true);
  return node.result(0, y);
}

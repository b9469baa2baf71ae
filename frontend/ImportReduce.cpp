//===- ImportReduce.cpp - Reductions over axes ----------------------------===//
//
// The Reduce operators and running sums. Sums, means and maxima have ops; all
// others are composed of them.
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

/// The square root of a sum of squares. Where that is zero, so is the gradient,
/// as of torch.linalg.vector_norm: the root's own slope is infinite there.
static Value rootOfSquares(NodeImporter &node, Value sum) {
  Value zero = node.map("equal", {sum, node.splat(0)});
  Value safe = node.map("where", {zero, node.splat(1), sum});
  return node.map("where", {zero, node.splat(0), node.map("sqrt", {safe})});
}

/// log(sum(exp(x))), of which no term overflows.
static Value logSumExp(NodeImporter &node, Value x, ArrayRef<int64_t> axes) {
  Value largest = node.map("detach", {rewrite::maximumKept(node, x, axes)});
  Value terms = node.map("exp", {node.map("sub", {x, largest})});
  Value sum = rewrite::reduceKept(node, terms, axes, false);
  return node.map("add", {node.map("log", {sum}), largest});
}

/// The product of the elements along all axes, one factor after another.
static Value productKept(NodeImporter &node, Value x, ArrayRef<int64_t> axes) {
  constexpr int64_t most = 64;
  for (int64_t axis : axes) {
    int64_t extent = shapeOf(x)[axis];
    if (extent > most) {
      (void)node.fail("multiplies " + Twine(extent) + " factors; at most " +
                      Twine(most) + " are supported");
      return {};
    }
    Value whole = x;
    x = rewrite::slice(node, whole, axis, 0, 1);
    for (int64_t i = 1; i < extent; ++i)
      x = node.map("mul", {x, rewrite::slice(node, whole, axis, i, 1)});
  }
  return x;
}

static Value reduced(NodeImporter &node, Value x, ArrayRef<int64_t> axes) {
  StringRef op = node.op();
  auto sum = [&](Value terms) {
    return rewrite::reduceKept(node, terms, axes, false);
  };
  if (op == "ReduceMean")
    return rewrite::reduceKept(node, x, axes, true);
  if (op == "ReduceMax")
    return rewrite::maximumKept(node, x, axes);
  if (op == "ReduceMin")
    return node.map("neg",
                    {rewrite::maximumKept(node, node.map("neg", {x}), axes)});
  if (op == "ReduceProd")
    return productKept(node, x, axes);
  if (op == "ReduceL1")
    return sum(node.map("abs", {x}));
  if (op == "ReduceL2")
    return rootOfSquares(node, sum(node.map("square", {x})));
  if (op == "ReduceSumSquare")
    return sum(node.map("square", {x}));
  if (op == "ReduceLogSum")
    return node.map("log", {sum(x)});
  if (op == "ReduceLogSumExp")
    return logSumExp(node, x, axes);
  assert(op == "ReduceSum" && "the table's rows are these");
  return sum(x);
}

LogicalResult lwcc::importReduce(NodeImporter &node) {
  FailureOr<std::optional<Shape>> given = node.integers(1, "axes");
  if (failed(given))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> from = shapeOf(x);
  int64_t rank = from.size();
  std::optional<Shape> axes = *given;
  if (!axes || axes->empty()) {
    if (node.integer("noop_with_empty_axes", 0))
      return node.result(0, x);
    axes = to_vector(seq<int64_t>(0, rank));
  }
  std::string error;
  axes = normalizeAxes(*axes, rank, error);
  if (!axes)
    return node.fail(error);
  llvm::sort(*axes);
  Shape shape;
  for (auto [d, extent] : enumerate(from)) {
    if (!is_contained(*axes, int64_t(d)))
      shape.push_back(extent);
    else if (node.integer("keepdims", 1))
      shape.push_back(1);
  }
  bool plain = node.op() == "ReduceSum" || node.op() == "ReduceMean";
  Value y;
  if (plain && !axes->empty()) // drops the axes, too
    y = node.create<train::ReduceOp>(node.tensorOf(shape), x, *axes,
                                     node.op() == "ReduceMean");
  else
    y = reduced(node, x, *axes);
  return y ? node.result(0, node.reshape(y, shape)) : failure();
}

LogicalResult lwcc::importCumSum(NodeImporter &node) {
  FailureOr<double> given = node.scalar(1, "");
  if (failed(given))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  std::string error;
  std::optional<int64_t> axis =
      normalizeAxis(int64_t(*given), shapeOf(x).size(), error);
  if (!axis)
    return node.fail(error);
  constexpr int64_t longest = 4096;
  int64_t extent = shapeOf(x)[*axis];
  if (extent > longest)
    return node.fail("sums along an extent of " + Twine(extent) + "; at most " +
                     Twine(longest) + " are supported");
  bool reversed = node.integer("reverse", 0) != 0;
  bool exclusive = node.integer("exclusive", 0) != 0;
  // Sum i has the terms of a row of a triangular matrix.
  std::vector<float> matrix(extent * extent);
  for (int64_t i : seq<int64_t>(0, extent))
    for (int64_t j : seq<int64_t>(0, extent)) {
      int64_t ahead = reversed ? j - i : i - j;
      matrix[i * extent + j] = ahead > 0 || (ahead == 0 && !exclusive);
    }
  return node.result(
      0, rewrite::multiply(node, x, *axis, extent, std::move(matrix)));
}

//===- Rewrites.cpp - Operators composed of others ------------------------===//

#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

static Shape withOnes(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  Shape kept(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  return kept;
}

bool rewrite::admitTable(NodeImporter &node, int64_t rows, int64_t columns) {
  constexpr int64_t largest = int64_t(1) << 28;
  if (rows <= largest / columns)
    return true;
  (void)node.fail("needs a table of " + Twine(rows) + " rows and " +
                  Twine(columns) + " columns, which is too large");
  return false;
}

Value rewrite::reduceKept(NodeImporter &node, Value x, ArrayRef<int64_t> axes,
                          bool mean) {
  if (!x || axes.empty())
    return x;
  return node.create<train::ReduceOp>(node.tensorOf(withOnes(shapeOf(x), axes)),
                                      x, axes, mean);
}

Value rewrite::maximumKept(NodeImporter &node, Value x,
                           ArrayRef<int64_t> axes) {
  if (!x || axes.empty())
    return x;
  // One maximum over all axes, not one after another: among ties of several
  // axes the gradient is shared evenly.
  Shape kept = withOnes(shapeOf(x), axes);
  int64_t axis = axes.front();
  bool adjacent = axes.back() - axis + 1 == int64_t(axes.size());
  if (!adjacent) { // the axes to the end
    Shape perm;
    for (int64_t d : seq<int64_t>(0, kept.size()))
      if (!is_contained(axes, d))
        perm.push_back(d);
    axis = perm.size();
    append_range(perm, axes);
    x = transpose(node, x, perm);
  }
  ArrayRef<int64_t> from = shapeOf(x);
  Shape rows(from.take_front(axis));
  rows.push_back(*elementCount(from.slice(axis, axes.size())));
  append_range(rows, from.drop_front(axis + axes.size()));
  x = node.reshape(x, rows);
  rows[axis] = 1;
  Value y = node.create<train::ReduceMaxOp>(node.tensorOf(rows), x, axis);
  return node.reshape(y, kept);
}

Value rewrite::transpose(NodeImporter &node, Value x, ArrayRef<int64_t> perm) {
  if (!x || is_sorted(perm))
    return x;
  Shape shape;
  for (int64_t d : perm)
    shape.push_back(shapeOf(x)[d]);
  return node.create<train::TransposeOp>(node.tensorOf(shape), x, perm);
}

Value rewrite::expand(NodeImporter &node, Value x, ArrayRef<int64_t> shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  return node.map("mul", {x, node.splat(1, shape)});
}

Value rewrite::repeat(NodeImporter &node, Value x, int64_t axis, int64_t count,
                      bool whole) {
  if (!x || count == 1)
    return x;
  Shape from(shapeOf(x)), shape = from;
  shape[axis] *= count;
  // A dimension of 1 that is repeated. Samples stay in front of it, so that the
  // op can be cut along them.
  int64_t samples = axis == 0 ? 1 : from[0], own = whole ? 1 : from[axis];
  int64_t before =
      *elementCount(ArrayRef(from).take_front(axis)) / samples * own;
  int64_t behind = *elementCount(from) / samples / before;
  x = expand(node, node.reshape(x, {samples, before, 1, behind}),
             {samples, before, count, behind});
  return node.reshape(x, shape);
}

Value rewrite::concat(NodeImporter &node, ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values[0];
  Shape shape(shapeOf(values[0]));
  shape[axis] = 0;
  for (Value value : values)
    shape[axis] += shapeOf(value)[axis];
  return node.create<train::ConcatOp>(node.tensorOf(shape), values, axis);
}

Value rewrite::slice(NodeImporter &node, Value x, int64_t axis, int64_t start,
                     int64_t extent, int64_t step) {
  if (!x || (start == 0 && step == 1 && extent == shapeOf(x)[axis]))
    return x;
  Shape shape(shapeOf(x)), starts(shape.size(), 0), steps(shape.size(), 1);
  shape[axis] = extent;
  starts[axis] = start;
  steps[axis] = extent == 1 ? 1 : step;
  return node.create<train::SliceOp>(node.tensorOf(shape), x, starts, steps);
}

namespace {
/// Indices at one distance from each other; a distance of 0 repeats one.
struct Run {
  int64_t start, step, count;
};
} // namespace

static SmallVector<Run> runsOf(ArrayRef<int64_t> indices) {
  SmallVector<Run> runs;
  for (size_t i = 0; i < indices.size();) {
    Run run{indices[i], 1, 1};
    if (i + 1 < indices.size())
      run.step = indices[i + 1] - indices[i];
    while (i + run.count < indices.size() &&
           indices[i + run.count] == run.start + run.count * run.step)
      ++run.count;
    i += run.count;
    runs.push_back(run);
  }
  return runs;
}

Value rewrite::take(NodeImporter &node, Value x, int64_t axis,
                    ArrayRef<int64_t> indices) {
  if (!x)
    return x;
  constexpr size_t fewRuns = 8;
  SmallVector<Run> runs = runsOf(indices);
  Shape from(shapeOf(x));
  int64_t extent = from[axis];
  if (runs.size() > fewRuns) {
    if (!admitTable(node, indices.size(), extent))
      return {};
    std::vector<float> matrix(indices.size() * extent, 0.0f);
    for (auto [i, index] : enumerate(indices))
      matrix[i * extent + index] = 1;
    return multiply(node, x, axis, indices.size(), std::move(matrix));
  }
  SmallVector<Value> parts;
  for (const Run &run : runs) {
    Shape shape = from;
    shape[axis] = run.count;
    parts.push_back(
        run.step ? slice(node, x, axis, run.start, run.count, run.step)
                 : expand(node, slice(node, x, axis, run.start, 1), shape));
  }
  return concat(node, parts, axis);
}

Value rewrite::multiply(NodeImporter &node, Value x, int64_t axis, int64_t rows,
                        std::vector<float> matrix) {
  if (!x)
    return x;
  Shape from(shapeOf(x));
  int64_t rank = from.size(), extent = from[axis];
  Shape perm = to_vector(seq<int64_t>(0, rank));
  std::swap(perm[axis], perm.back());
  x = transpose(node, x, perm);
  Shape product(shapeOf(x));
  product.back() = rows;
  Value y = x;
  if (rank == 1)
    y = node.reshape(y, {1, extent});
  HostTensor host = HostTensor::empty(HostTensor::Kind::real, {rows, extent});
  host.reals = std::move(matrix);
  Value b = node.stored(std::move(host));
  if (!b)
    return {};
  Shape matrixRows(shapeOf(y));
  matrixRows.back() = rows;
  y = node.create<train::MatMulOp>(node.tensorOf(matrixRows), y, b, Value(),
                                   false, false, /*transpose_b=*/true);
  return transpose(node, node.reshape(y, product), perm);
}

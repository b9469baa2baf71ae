//===- ImportRearrange.cpp - Elements at places known at compile time -----===//
//
// Operators that take, repeat or overwrite elements whose places do not depend
// on the data: Gather and its kin with constant indices, Tile, the paddings by
// elements, and those between depth and space. Of those by data there is one:
// rows of a table (an embedding).
//
//===----------------------------------------------------------------------===//

#include "frontend/Metadata.h"
#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"
#include "frontend/WholeNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// The indices of input i, which must be integers known at compile time, if
/// there are any; null after reporting.
static HostRef indicesOf(NodeImporter &node, unsigned i) {
  HostRef indices = node.constant(i);
  if (indices && (!indices->isReal() || indices->size() == 0))
    return indices;
  (void)node.fail("needs indices known at compile time as its input '" +
                  node.input(i) +
                  "'; of data only Gather along axis 0 takes them (an "
                  "embedding)");
  return nullptr;
}

/// Rows of a table that data names: an embedding.
static LogicalResult importEmbedding(NodeImporter &node) {
  Value table = node.live(0), at = node.live(1);
  if (!table || !at)
    return failure();
  Shape from(shapeOf(table)), places(shapeOf(at));
  FailureOr<int64_t> axis = node.axis(0, from.size());
  if (failed(axis))
    return failure();
  if (*axis != 0)
    return node.fail("takes elements along axis " + Twine(*axis) +
                     " by indices that depend on the data; axis 0 (rows of a "
                     "table) is supported");
  if (from[0] > mostWhole)
    return node.fail("has a table of " + Twine(from[0]) +
                     " rows; at most 2^24 are supported");
  // Embedding's own shapes: [n, t] of a table [rows, d].
  int64_t columns = *elementCount(ArrayRef(from).drop_front());
  int64_t samples = places.empty() ? 1 : places[0];
  Shape flat = {samples, *elementCount(places) / samples};
  Shape shape = places;
  append_range(shape, ArrayRef(from).drop_front());
  node.setFreshNormal(table, 1);
  table = node.reshape(table, {from[0], columns});
  at = node.reshape(at, flat);
  flat.push_back(columns);
  Value y = node.create<train::EmbeddingOp>(node.tensorOf(flat), table, at);
  if (std::optional<int64_t> padding = exportedPadding(node.proto())) {
    // What is taken from that row does not change it.
    flat.back() = 1;
    Value isPadding = node.map(
        "equal", {node.reshape(at, flat), node.splat(double(*padding))});
    y = node.map("where", {isPadding, node.map("detach", {y}), y});
  }
  return node.result(0, node.reshape(y, shape));
}

LogicalResult lwcc::importGather(NodeImporter &node) {
  if (node.isWhole(1))
    return importEmbedding(node);
  HostRef indices = indicesOf(node, 1);
  if (!indices)
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> from = shapeOf(x);
  FailureOr<int64_t> axis = node.axis(0, from.size());
  if (failed(axis))
    return failure();
  Shape places;
  std::string error;
  for (int64_t index : indices->integers) {
    std::optional<int64_t> place = placeOf(index, from[*axis], error);
    if (!place)
      return node.fail(error);
    places.push_back(*place);
  }
  Shape shape(from.take_front(*axis));
  append_range(shape, indices->shape);
  append_range(shape, from.drop_front(*axis + 1));
  if (places.empty())
    return node.result(0, node.emptyTensor(shape));
  Value y = rewrite::take(node, x, *axis, places);
  return y ? node.result(0, node.reshape(y, shape)) : failure();
}

namespace {
/// Data by rows: what tuples of indices name, and where each tuple's row is.
struct Rows {
  Value x;      ///< [rows, ...]
  Shape tuples; ///< the shape of indices, without that of a tuple
  Shape row;    ///< the shape of a row
  Shape places;
};
} // namespace

/// Reads data and indices of GatherND or ScatterND. Fails after reporting.
static FailureOr<Rows> readRows(NodeImporter &node) {
  HostRef indices = indicesOf(node, 1);
  if (!indices)
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  std::string error;
  std::optional<HostTensor> whole =
      withBatchDims(from, *indices, node.integer("batch_dims", 0), error);
  std::optional<Shape> places;
  if (whole)
    places = placesOf(from, *whole, error);
  if (!places)
    return node.fail(error);
  int64_t size = whole->shape.back();
  Rows rows{x, Shape(ArrayRef(indices->shape).drop_back()),
            Shape(ArrayRef(from).drop_front(size)), *places};
  Shape shape = {*elementCount(ArrayRef(from).take_front(size))};
  append_range(shape, rows.row);
  rows.x = node.reshape(x, shape);
  return rows;
}

LogicalResult lwcc::importGatherND(NodeImporter &node) {
  FailureOr<Rows> rows = readRows(node);
  if (failed(rows))
    return failure();
  Shape shape = rows->tuples;
  append_range(shape, rows->row);
  if (rows->places.empty())
    return node.result(0, node.emptyTensor(shape));
  Value y = rewrite::take(node, rows->x, 0, rows->places);
  return y ? node.result(0, node.reshape(y, shape)) : failure();
}

/// Data of which some rows are replaced: rows of data and updates, joined, are
/// taken in a new order. Where updates are added, a product with a table of
/// zeros and ones says to which rows.
LogicalResult lwcc::importScatterND(NodeImporter &node) {
  StringRef how = node.text("reduction", "none");
  if (how != "none" && how != "add")
    return node.fail("has reduction='" + how +
                     "'; 'none' and 'add' are supported");
  FailureOr<Rows> rows = readRows(node);
  if (failed(rows))
    return failure();
  if (rows->places.empty()) // nor are there any updates
    return node.result(0, node.reshape(rows->x, node.shape(0)));
  Value updates = node.live(2);
  if (!updates)
    return failure();
  Shape wanted = rows->tuples;
  append_range(wanted, rows->row);
  if (shapeOf(updates) != ArrayRef(wanted))
    return node.fail("has updates of shape " + printShape(shapeOf(updates)) +
                     " where " + printShape(wanted) + " is needed");
  int64_t count = shapeOf(rows->x)[0];
  if (!rewrite::admitTable(node, count, 1))
    return failure();
  int64_t given = rows->places.size();
  Shape newRows = {given};
  append_range(newRows, rows->row);
  if (how == "add") {
    if (!rewrite::admitTable(node, count, given))
      return failure();
    std::vector<float> table(count * given, 0.0f);
    for (auto [i, place] : enumerate(rows->places))
      table[place * given + i] = 1;
    Value sums = rewrite::multiply(node, node.reshape(updates, newRows), 0,
                                   count, std::move(table));
    if (!sums)
      return failure();
    Value y = node.map("add", {rows->x, sums});
    return node.result(0, node.reshape(y, node.shape(0)));
  }
  Shape order = to_vector(seq<int64_t>(0, count));
  for (auto [i, place] : enumerate(rows->places))
    order[place] = count + i;
  Value both =
      rewrite::concat(node, {rows->x, node.reshape(updates, newRows)}, 0);
  Value y = rewrite::take(node, both, 0, order);
  return y ? node.result(0, node.reshape(y, node.shape(0))) : failure();
}

LogicalResult lwcc::importTile(NodeImporter &node) {
  FailureOr<std::optional<Shape>> repeats = node.integers(1, "repeats");
  if (failed(repeats))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape shape(shapeOf(x));
  bool fits = *repeats && (*repeats)->size() == shape.size();
  if (!fits || any_of(**repeats, [](int64_t r) { return r < 1; }))
    return node.fail("repeats data of shape " + printShape(shape) + " " +
                     printShape(repeats->value_or(Shape())) +
                     " times; a number of at least 1 for each dimension is "
                     "needed");
  for (auto [d, count] : enumerate(**repeats)) {
    if (MulOverflow(shape[d], count, shape[d]) || !elementCount(shape))
      return node.fail("makes a tensor that is too large");
    x = rewrite::repeat(node, x, d, count, true);
  }
  return node.result(0, x);
}

//===----------------------------------------------------------------------===//
// Depth and space
//===----------------------------------------------------------------------===//

LogicalResult lwcc::importDepthToSpace(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  int64_t block = node.integer("blocksize", 0);
  bool toSpace = node.op() == "DepthToSpace";
  StringRef mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.fail("has the unknown mode '" + mode + "'");
  bool sane = from.size() == 4 && block >= 1 && block < 1 << 15;
  if (!sane || (toSpace ? from[1] % (block * block) != 0
                        : from[2] % block != 0 || from[3] % block != 0))
    return node.fail("has blocks of " + Twine(block) + " and data of shape " +
                     printShape(from) + ", which do not fit each other");
  int64_t n = from[0], c = from[1], h = from[2], w = from[3];
  if (!toSpace) {
    x = node.reshape(x, {n, c, h / block, block, w / block, block});
    x = rewrite::transpose(node, x,
                           mode == "DCR" ? Shape{0, 3, 5, 1, 2, 4}
                                         : Shape{0, 1, 3, 5, 2, 4});
    return node.result(
        0, node.reshape(x, {n, c * block * block, h / block, w / block}));
  }
  int64_t depth = c / (block * block);
  if (mode == "DCR") {
    x = node.reshape(x, {n, block, block, depth, h, w});
    x = rewrite::transpose(node, x, {0, 3, 4, 1, 5, 2});
  } else {
    x = node.reshape(x, {n, depth, block, block, h, w});
    x = rewrite::transpose(node, x, {0, 1, 4, 2, 5, 3});
  }
  return node.result(0, node.reshape(x, {n, depth, h * block, w * block}));
}

//===----------------------------------------------------------------------===//
// Pads
//===----------------------------------------------------------------------===//

/// The element that stands at a place outside (or inside) of an extent.
static int64_t mirrored(StringRef mode, int64_t place, int64_t extent) {
  auto within = [](int64_t a, int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge")
    return std::clamp<int64_t>(place, 0, extent - 1);
  if (mode == "wrap")
    return within(place, extent);
  int64_t period = std::max<int64_t>(1, 2 * (extent - 1)); // reflect
  int64_t at = within(place, period);
  return at < extent ? at : period - at;
}

LogicalResult lwcc::importPad(NodeImporter &node) {
  StringRef mode = node.text("mode", "constant");
  if (!is_contained({"constant", "reflect", "edge", "wrap"}, mode))
    return node.fail("has the unknown mode '" + mode + "'");
  auto pads = node.integers(1, "pads"), axes = node.integers(3, "");
  FailureOr<double> value = node.scalar(2, "value");
  if (failed(pads) || failed(axes) || failed(value))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  int64_t rank = from.size();
  Shape along = axes->value_or(to_vector(seq<int64_t>(0, rank)));
  if (!*pads || (*pads)->size() != 2 * along.size())
    return node.fail("needs two pads for each of " + Twine(along.size()) +
                     " dimensions");
  Shape low(rank, 0), shape = from;
  std::string error;
  for (auto [i, raw] : enumerate(along)) {
    std::optional<int64_t> axis = normalizeAxis(raw, rank, error);
    if (!axis)
      return node.fail(error);
    int64_t before = (**pads)[i], after = (**pads)[i + along.size()];
    constexpr int64_t limit = 1 << 20;
    if (std::min(before, after) < -limit || std::max(before, after) > limit ||
        from[*axis] + before + after < 1)
      return node.fail("pads an extent of " + Twine(from[*axis]) + " by " +
                       Twine(before) + " and " + Twine(after));
    low[*axis] = before;
    shape[*axis] = from[*axis] + before + after;
  }
  if (mode != "constant") {
    for (int64_t axis : seq<int64_t>(0, rank)) {
      if (shape[axis] == from[axis] && low[axis] == 0)
        continue;
      if (!rewrite::admitTable(node, shape[axis], 1))
        return failure();
      // Negative pads crop ahead of the others.
      int64_t after = shape[axis] - from[axis] - low[axis];
      int64_t first = std::max<int64_t>(0, -low[axis]);
      int64_t extent = from[axis] - first + std::min<int64_t>(0, after);
      if (extent < 1)
        return node.fail("crops all of an extent of " + Twine(from[axis]));
      Shape places;
      for (int64_t i : seq<int64_t>(0, shape[axis]))
        places.push_back(first + mirrored(mode,
                                          i - std::max<int64_t>(0, low[axis]),
                                          extent));
      x = rewrite::take(node, x, axis, places);
    }
    return node.result(0, x);
  }
  if (shape == from && all_of(low, [](int64_t v) { return v == 0; }))
    return node.result(0, x);
  float fill = std::isnan(*value) ? 0.0f : float(*value);
  Value y =
      node.create<train::PadOp>(node.tensorOf(shape), x, low, APFloat(fill));
  return node.result(0, y);
}

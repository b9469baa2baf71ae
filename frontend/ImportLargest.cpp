//===- ImportLargest.cpp - The largest elements and where they are --------===//
//
// TopK, ArgMax and ArgMin. The largest element of a line is where a maximum is
// equal to it; the next one is found without it. No gradient goes through the
// comparisons, only to the elements that are taken.
//
//===----------------------------------------------------------------------===//

#include "frontend/Lines.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cfloat>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

static Value maximumOf(NodeImporter &node, Value x) { // of each line
  return rewrite::maximumKept(node, x, {int64_t(shapeOf(x).size()) - 1});
}

/// The place of the largest element of each line, of the first or last of
/// equal ones. What is no number is larger than all numbers.
static Value placeOfLargest(NodeImporter &node, Value lines, bool last) {
  int64_t extent = shapeOf(lines).back();
  Value places = placesAlong(node, extent);
  if (!places)
    return places;
  Value largest = node.map("equal", {lines, maximumOf(node, lines)});
  Value number = node.map("equal", {lines, lines});
  Value hit = node.map("or", {largest, node.map("not", {number})});
  Value behind = node.splat(double(extent - 1));
  Value rank = last ? places : node.map("sub", {behind, places});
  Value best = maximumOf(node, node.map("where", {hit, rank, node.splat(-1)}));
  return last ? best : node.map("sub", {behind, best});
}

/// What comparisons are made with: no gradient goes through these.
static Value compared(NodeImporter &node, Value lines, bool largest) {
  lines = node.map("detach", {lines});
  return largest ? lines : node.map("neg", {lines});
}

LogicalResult lwcc::importArgMax(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  FailureOr<int64_t> axis = node.axis(0, from.size());
  if (failed(axis))
    return failure();
  Lines lines(node, from, *axis);
  Value y = placeOfLargest(
      node, compared(node, lines.split(x), node.op() == "ArgMax"),
      node.integer("select_last_index", 0) != 0);
  if (!y)
    return failure();
  y = lines.join(y);
  Shape shape(shapeOf(y));
  if (!node.integer("keepdims", 1))
    shape.erase(shape.begin() + *axis);
  return node.result(0, node.reshape(y, shape));
}

/// The largest element of each line, k times, each without those before it.
LogicalResult lwcc::importTopK(NodeImporter &node) {
  FailureOr<double> given = node.scalar(1, "");
  if (failed(given))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  FailureOr<int64_t> axis = node.axis(-1, from.size());
  if (failed(axis))
    return failure();
  constexpr int64_t most = 64;
  double k = node.hasInput(1) ? *given : double(node.integer("k", 0));
  if (!(k >= 1 && k <= double(from[*axis])))
    return node.fail("takes the largest " + formatv("{0:f0}", k) + " of " +
                     Twine(from[*axis]) + " elements");
  if (k > most)
    return node.fail("takes the largest " + Twine(int64_t(k)) +
                     " elements; at most " + Twine(most) + " are supported");
  Lines lines(node, from, *axis);
  Value data = lines.split(x), places = placesAlong(node, from[*axis]);
  if (!data || !places)
    return failure();
  // What is taken becomes less than all others, also than an infinity.
  constexpr double least = -1e38;
  bool largest = node.integer("largest", 1) != 0;
  Value left = compared(node, data, largest);
  if (!largest) // what is no number comes last, as it is larger than all
    left = node.map("where",
                    {node.map("equal", {left, left}), left, node.splat(least)});
  left = node.map("clip", {left}, {{"lo", least}, {"hi", FLT_MAX}});
  SmallVector<Value> values, indices;
  for (int64_t i = 0; i < int64_t(k); ++i) {
    Value place = placeOfLargest(node, left, false);
    if (!place)
      return failure();
    Value chosen = node.map("equal", {places, place});
    indices.push_back(place);
    values.push_back(rewrite::reduceKept(
        node, node.map("where", {chosen, data, node.splat(0)}), {2}, false));
    if (i + 1 < int64_t(k))
      left = node.map("where", {chosen, node.splat(-FLT_MAX), left});
  }
  auto joined = [&](ValueRange parts) {
    return lines.join(rewrite::concat(node, parts, 2));
  };
  if (failed(node.result(0, joined(values))))
    return failure();
  return node.isUsed(1) ? node.result(1, joined(indices)) : success();
}

//===- ImportElements.cpp - Elements that are compared to be found --------===//
//
// Elements along one axis that indices name (GatherElements, ScatterElements),
// and the largest ones and where they are (TopK, ArgMax). Places along the axis
// are compared with what they should be, and all elements but one give zero to
// a sum. So indices may depend on data, and a result costs as much as the
// extent.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cfloat>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
/// Tensors as lines along one axis: [n, m, extent], where n are the samples if
/// they are in front, so that what is made of them can be cut along these.
class Lines {
public:
  Lines(NodeImporter &node, ArrayRef<int64_t> shape, int64_t axis)
      : node(node), perm(to_vector(seq<int64_t>(0, shape.size()))) {
    std::rotate(perm.begin() + axis, perm.begin() + axis + 1, perm.end());
    for (int64_t d : perm)
      moved.push_back(shape[d]);
    samples = axis == 0 ? 1 : shape[0];
    count = *elementCount(ArrayRef(moved).drop_back());
  }
  int64_t number() const { return count; }

  Value split(Value x) const {
    return node.reshape(rewrite::transpose(node, x, perm),
                        {samples, count / samples, moved.back()});
  }
  /// Back, with another extent along the axis.
  Value join(Value lines) const {
    Shape shape = moved, back(perm.size());
    shape.back() = shapeOf(lines).back();
    for (auto [i, d] : enumerate(perm))
      back[d] = i;
    return rewrite::transpose(node, node.reshape(lines, shape), back);
  }
  /// The elements of a row-major list, line by line.
  std::vector<int64_t> split(ArrayRef<int64_t> elements,
                             ArrayRef<int64_t> shape) const {
    Shape own = stridesOf(shape);
    std::vector<int64_t> lines;
    for (int64_t i : seq<int64_t>(0, elements.size())) {
      int64_t at = 0, rest = i;
      for (int64_t d = int64_t(perm.size()) - 1; d >= 0; --d) {
        at += rest % moved[d] * own[perm[d]];
        rest /= moved[d];
      }
      lines.push_back(elements[at]);
    }
    return lines;
  }

private:
  NodeImporter &node;
  Shape perm, moved;
  int64_t samples, count;
};
} // namespace

/// 0, 1, ... along the last of some dimensions.
static Value placesAlong(NodeImporter &node, Shape shape) {
  HostTensor places = HostTensor::empty(HostTensor::Kind::real, shape);
  for (int64_t i : seq<int64_t>(0, *elementCount(shape)))
    places.reals.push_back(float(i));
  return node.stored(std::move(places));
}

/// The sum over one axis, which is no more.
static Value sumOver(NodeImporter &node, Value x, int64_t axis) {
  Shape shape(shapeOf(x));
  shape.erase(shape.begin() + axis);
  return node.create<train::ReduceOp>(node.tensorOf(shape), x,
                                      ArrayRef<int64_t>(axis), false);
}

static Value maximumOf(NodeImporter &node, Value x) { // of each line
  return rewrite::maximumKept(node, x, {int64_t(shapeOf(x).size()) - 1});
}

//===----------------------------------------------------------------------===//
// Elements by indices
//===----------------------------------------------------------------------===//

namespace {
/// The indices of GatherElements or ScatterElements, which name an element of
/// the axis for each element of their own shape.
struct Indices {
  int64_t axis;
  Shape shape;
  HostRef known;               ///< null: they depend on the data
  std::vector<int64_t> places; ///< of those that are known, row-major
};
} // namespace

/// Checks and reads input 1 for data of shape `from`. Fails after reporting.
static FailureOr<Indices> readIndices(NodeImporter &node,
                                      ArrayRef<int64_t> from) {
  Indices indices;
  FailureOr<int64_t> axis = node.axis(0, from.size());
  if (failed(axis))
    return failure();
  indices.axis = *axis;
  if (!node.isWhole(1)) {
    indices.known = node.constant(1);
    if (!indices.known || indices.known->isReal())
      return node.fail("needs integers as its input '" + node.input(1) + "'");
  }
  indices.shape = Shape(node.shape(1));
  bool fits = indices.shape.size() == from.size();
  for (auto [d, extent] : enumerate(indices.shape))
    fits =
        fits && extent > 0 && (int64_t(d) == indices.axis || extent <= from[d]);
  if (!fits)
    return node.fail("has indices of shape " + printShape(indices.shape) +
                     " for data of shape " + printShape(from));
  std::string error;
  for (int64_t index : indices.known ? ArrayRef(indices.known->integers)
                                     : ArrayRef<int64_t>()) {
    std::optional<int64_t> place = placeOf(index, from[indices.axis], error);
    if (!place)
      return node.fail(error);
    indices.places.push_back(*place);
  }
  return indices;
}

/// The indices as floats of the program, none of them negative.
static Value liveIndices(NodeImporter &node, const Indices &indices,
                         int64_t extent) {
  if (indices.known) {
    HostTensor places =
        HostTensor::empty(HostTensor::Kind::real, indices.shape);
    places.reals.assign(indices.places.begin(), indices.places.end());
    return node.stored(std::move(places));
  }
  Value at = node.live(1);
  if (!at)
    return at;
  Value fromBehind = node.map("add", {at, node.splat(double(extent))});
  return node.map("where",
                  {node.map("less", {at, node.splat(0)}), fromBehind, at});
}

/// The first elements of x along all axes but one.
static Value block(NodeImporter &node, Value x, const Indices &indices) {
  for (auto [d, extent] : enumerate(indices.shape))
    if (int64_t(d) != indices.axis)
      x = rewrite::slice(node, x, d, 0, extent);
  return x;
}

LogicalResult lwcc::importGatherElements(NodeImporter &node) {
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  FailureOr<Indices> indices = readIndices(node, from);
  if (failed(indices))
    return failure();
  x = block(node, x, *indices);
  int64_t axis = indices->axis, extent = from[axis];
  int64_t picks = indices->shape[axis];
  Lines ofIndices(node, indices->shape, axis), ofData(node, shapeOf(x), axis);
  if (indices->known) {
    std::vector<int64_t> lines =
        ofIndices.split(indices->places, indices->shape);
    bool alike = all_of(enumerate(lines), [&](auto entry) {
      return entry.value() == lines[entry.index() % picks];
    });
    if (alike) // the same of each line
      return node.result(
          0, rewrite::take(node, x, axis, ArrayRef(lines).take_front(picks)));
  }
  if (!rewrite::admitTable(node, ofIndices.number() * picks, extent))
    return failure();
  Value at = liveIndices(node, *indices, extent);
  Value places = placesAlong(node, {extent});
  if (!at || !places)
    return failure();
  auto lines = [&](Value value, bool picked) { // [n, m, picks, extent]
    Shape shape(shapeOf(value));
    shape.insert(picked ? shape.end() : shape.end() - 1, 1);
    return node.reshape(value, shape);
  };
  Value chosen = node.map("equal", {lines(ofIndices.split(at), true), places});
  Value y = sumOver(
      node,
      node.map("where", {chosen, lines(ofData.split(x), false), node.splat(0)}),
      3);
  return node.result(0, ofIndices.join(y));
}

LogicalResult lwcc::importScatterElements(NodeImporter &node) {
  StringRef how = node.text("reduction", "none");
  if (how != "none" && how != "add")
    return node.fail("has reduction='" + how +
                     "'; 'none' and 'add' are supported");
  Value x = node.live(0), updates = node.live(2);
  if (!x || !updates)
    return failure();
  Shape from(shapeOf(x));
  FailureOr<Indices> indices = readIndices(node, from);
  if (failed(indices))
    return failure();
  if (shapeOf(updates) != ArrayRef(indices->shape))
    return node.fail("has updates of shape " + printShape(shapeOf(updates)) +
                     " for indices of shape " + printShape(indices->shape));
  int64_t axis = indices->axis, extent = from[axis];
  int64_t picks = indices->shape[axis];
  Lines lines(node, indices->shape, axis);
  if (!rewrite::admitTable(node, lines.number() * picks, extent))
    return failure();
  if (indices->known && how == "none") {
    // Of several updates of one element the last one counts.
    Shape strides = stridesOf(indices->shape);
    int64_t step = strides[axis];
    auto &places = indices->places;
    for (int64_t i : seq<int64_t>(0, places.size()))
      for (int64_t later = i / step % picks + 1; later < picks; ++later)
        if (places[i + (later - i / step % picks) * step] == places[i]) {
          places[i] = -1;
          break;
        }
  }
  Value at = liveIndices(node, *indices, extent);
  Value places = placesAlong(node, {extent});
  if (!at || !places)
    return failure();
  auto column = [&](Value value) { // [n, m, picks, 1]
    Shape shape(shapeOf(value));
    shape.push_back(1);
    return node.reshape(value, shape);
  };
  Value chosen = node.map("equal", {column(lines.split(at)), places});
  // What of the updates each element gets, in the shape of the data.
  auto spread = [&](Value values) {
    Value sum = lines.join(
        sumOver(node, node.map("where", {chosen, values, node.splat(0)}), 2));
    if (shapeOf(sum) == ArrayRef(from))
      return sum;
    return Value(node.create<train::PadOp>(
        node.tensorOf(from), sum, Shape(from.size(), 0), APFloat(0.0f)));
  };
  Value given = spread(column(lines.split(updates)));
  if (how == "add")
    return node.result(0, node.map("add", {x, given}));
  Value hit = node.map("greater", {spread(node.splat(1)), node.splat(0)});
  return node.result(0, node.map("where", {hit, given, x}));
}

//===----------------------------------------------------------------------===//
// The largest elements
//===----------------------------------------------------------------------===//

/// The place of the largest element of each line, of the first or last of
/// equal ones. What is no number is larger than all numbers.
static Value placeOfLargest(NodeImporter &node, Value lines, bool last) {
  int64_t extent = shapeOf(lines).back();
  Value places = placesAlong(node, {extent});
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
  if (!rewrite::admitTable(node, from[*axis], 1))
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
  Value data = lines.split(x), places = placesAlong(node, {from[*axis]});
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

//===- ImportElements.cpp - Elements that are compared to be found --------===//
//
// Elements along one axis that indices name (GatherElements, ScatterElements,
// OneHot). Places along the axis are compared with what they should be, and all
// elements but one give zero to a sum. So indices may depend on data, and a
// result costs as much as the extent.
//
//===----------------------------------------------------------------------===//

#include "frontend/Lines.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"
#include "frontend/WholeNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// The sum over one axis, which is no more.
static Value sumOver(NodeImporter &node, Value x, int64_t axis) {
  Shape shape(shapeOf(x));
  shape.erase(shape.begin() + axis);
  return node.create<train::ReduceOp>(node.tensorOf(shape), x,
                                      ArrayRef<int64_t>(axis), false);
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

/// Indices of data, those from behind counted from the front.
static Value fromFront(NodeImporter &node, Value at, int64_t extent) {
  Value behind = node.map("add", {at, node.splat(double(extent))});
  return node.map("where", {node.map("less", {at, node.splat(0)}), behind, at});
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
  return fromFront(node, at, extent);
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
  Value places = placesAlong(node, extent);
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
  Value places = placesAlong(node, extent);
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

/// One of two values for each place along a new axis: whether it is the index.
LogicalResult lwcc::importOneHot(NodeImporter &node) {
  FailureOr<double> given = node.scalar(1, "");
  HostRef values = node.constant(2);
  if (failed(given))
    return failure();
  if (!values || values->size() != 2)
    return node.fail("needs two values known at compile time as its input '" +
                     node.input(2) + "'");
  if (!(*given >= 1 && *given <= double(mostWhole))) // every place is a float
    return node.fail("has a depth of " + formatv("{0:f0}", *given) +
                     "; at least 1 and at most 2^24 is needed");
  int64_t depth = int64_t(*given);
  Value at;
  if (HostRef known = node.constant(0); known && !known->isReal()) {
    HostTensor reals = HostTensor::empty(HostTensor::Kind::real, known->shape);
    reals.reals.assign(known->integers.begin(), known->integers.end());
    at = node.stored(std::move(reals));
  } else {
    at = node.live(0);
  }
  if (!at)
    return failure();
  Shape column(shapeOf(at));
  column.push_back(1);
  FailureOr<int64_t> axis = node.axis(-1, column.size());
  if (failed(axis) ||
      !rewrite::admitTable(node, *elementCount(shapeOf(at)), depth))
    return failure();
  Value places = placesAlong(node, depth);
  if (!places)
    return failure();
  at = node.reshape(fromFront(node, at, depth), column);
  Value y =
      node.map("where", {node.map("equal", {at, places}),
                         node.splat(values->at(1)), node.splat(values->at(0))});
  Shape perm = to_vector(seq<int64_t>(0, column.size()));
  std::rotate(perm.begin() + *axis, perm.end() - 1, perm.end());
  return node.result(0, rewrite::transpose(node, y, perm));
}

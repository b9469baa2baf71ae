//===- ImportResize.cpp - Resize and Upsample -----------------------------===//
//
// Reads how much each dimension is resized and how; ResizeRules.h says of what
// elements a new one is made. Nearest elements by a whole factor are repeated,
// any others taken; linear and cubic ones are products with the weights.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/ResizeRules.h"
#include "frontend/Rewrites.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <tuple>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

static FailureOr<ResizeRule> readRule(NodeImporter &node) {
  ResizeRule rule;
  bool old = node.op() == "Upsample" || node.opset() < 11;
  rule.mode = node.text("mode", "nearest");
  rule.coordinates =
      old ? "asymmetric"
          : node.text("coordinate_transformation_mode", "half_pixel");
  rule.rounding =
      old ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  rule.cubic = node.real("cubic_coeff_a", -0.75f);
  rule.excludeOutside = node.integer("exclude_outside", 0) != 0;
  rule.antialias = node.integer("antialias", 0) != 0;
  if (!is_contained({"nearest", "linear", "cubic"}, rule.mode) ||
      !is_contained({"half_pixel", "half_pixel_symmetric", "asymmetric",
                     "pytorch_half_pixel", "align_corners",
                     "tf_crop_and_resize"},
                    rule.coordinates) ||
      !is_contained(
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
          rule.rounding))
    return node.fail("resizes with mode '" + rule.mode + "', coordinates '" +
                     rule.coordinates + "' and rounding '" + rule.rounding +
                     "', which ONNX does not know");
  return rule;
}

namespace {
struct Sizes {
  Shape extents;
  SmallVector<double> scales; ///< new by old
  /// The part of each dimension that is resized, of its length.
  SmallVector<std::pair<double, double>> boxes;
};
} // namespace

/// The new extents, by sizes or by scales, of the axes that the node names.
static FailureOr<Sizes> readSizes(NodeImporter &node, ArrayRef<int64_t> from) {
  bool old = node.op() == "Upsample" || node.opset() < 11;
  HostRef scales = node.constant(old ? 1 : 2);
  HostRef sizes = old ? nullptr : node.constant(3);
  int64_t rank = from.size();
  std::string error;
  Shape axes = node.NodeView::integers("axes").value_or(
      to_vector(seq<int64_t>(0, rank)));
  if (!normalizeAxes(axes, rank, error))
    return node.fail(error);
  for (int64_t &axis : axes) // in the file's order, as the numbers are
    axis += axis < 0 ? rank : 0;
  HostRef numbers = sizes && sizes->size() ? sizes : scales;
  bool bySizes = numbers && numbers == sizes;
  if (!numbers || numbers->size() != int64_t(axes.size()))
    return node.fail("needs sizes or scales known at compile time, one for "
                     "each of " +
                     Twine(axes.size()) + " dimensions");
  StringRef policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (!is_contained({"stretch", "not_larger", "not_smaller"}, policy))
    return node.fail("has the unknown keep_aspect_ratio_policy '" + policy +
                     "'");
  // One scale for all axes, so that no size, or each, is reached.
  std::optional<double> common;
  if (bySizes && policy != "stretch")
    for (auto [i, axis] : enumerate(axes)) {
      double own = numbers->at(i) / double(from[axis]);
      common = !common                  ? own
               : policy == "not_larger" ? std::min(*common, own)
                                        : std::max(*common, own);
    }
  Sizes result{Shape(from), SmallVector<double>(rank, 1.0), {}};
  result.boxes.assign(rank, {0.0, 1.0});
  if (node.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    HostRef box = node.constant(1);
    if (!box || box->size() != 2 * int64_t(axes.size()))
      return node.fail("needs a box known at compile time, where each of " +
                       Twine(axes.size()) + " dimensions begins and ends");
    for (auto [i, axis] : enumerate(axes))
      result.boxes[axis] = {box->at(i), box->at(i + axes.size())};
  }
  for (auto [i, axis] : enumerate(axes)) {
    double number = numbers->at(i);
    if (common)
      number = std::floor(*common * double(from[axis]) + 0.5);
    // In single precision, in which 1.4 * 5 is 7.
    int64_t extent =
        bySizes ? int64_t(number)
                : int64_t(std::floor(float(number) * float(from[axis])));
    constexpr int64_t limit = 1 << 20;
    if (!(number > 0) || extent < 1 || extent > limit)
      return node.fail("resizes an extent of " + Twine(from[axis]) + " by " +
                       std::to_string(number));
    result.extents[axis] = extent;
    result.scales[axis] = common    ? *common
                          : bySizes ? double(extent) / double(from[axis])
                                    : number;
  }
  return result;
}

/// One dimension to its new extent.
static Value resizeAlong(NodeImporter &node, Value x, int64_t axis,
                         const ResizeRule &rule, int64_t to, double scale) {
  if (!x)
    return x;
  int64_t extent = shapeOf(x)[axis];
  const bool sums =
      rule.mode != "nearest" || rule.coordinates == "tf_crop_and_resize";
  if (!rewrite::admitTable(node, to, sums ? extent : 1))
    return {};
  if (sums)
    return rewrite::multiply(node, x, axis, to,
                             resizeWeights(rule, extent, to, scale));
  std::vector<int64_t> at = nearestElements(rule, extent, to, scale);
  int64_t factor = to / extent;
  bool repeats = to % extent == 0 && all_of(enumerate(at), [&](auto entry) {
                   return entry.value() == int64_t(entry.index()) / factor;
                 });
  if (!repeats || factor == 1)
    return rewrite::take(node, x, axis, at);
  return rewrite::repeat(node, x, axis, factor, false);
}

/// The value that is given for elements outside of the old tensor in some
/// dimension, there; zeros elsewhere. Null after reporting, or where there are
/// none.
static Value outside(NodeImporter &node, const ResizeRule &rule,
                     ArrayRef<int64_t> from, const Sizes &sizes, float value) {
  Shape shape(from.size(), 1);
  SmallVector<std::vector<bool>> isOut(from.size()); // empty: none is
  for (auto [axis, to] : enumerate(sizes.extents)) {
    ResizeRule own = rule;
    std::tie(own.begin, own.end) = sizes.boxes[axis];
    std::vector<bool> out;
    for (int64_t i = 0; i < to; ++i)
      out.push_back(isOutside(own, i, from[axis], to, sizes.scales[axis]));
    if (is_contained(out, true)) {
      isOut[axis] = std::move(out);
      shape[axis] = to;
    }
  }
  if (all_of(isOut, [](const std::vector<bool> &out) { return out.empty(); }) ||
      !rewrite::admitTable(node, *elementCount(shape), 1))
    return {};
  HostTensor table = HostTensor::empty(HostTensor::Kind::real, shape);
  table.reals.assign(*elementCount(shape), 0.0f);
  const Shape strides = stridesOf(shape);
  for (int64_t i = 0; i < table.size(); ++i)
    for (auto [axis, out] : enumerate(isOut))
      if (!out.empty() && out[i / strides[axis] % shape[axis]])
        table.reals[i] = value;
  return node.stored(std::move(table));
}

LogicalResult lwcc::importResize(NodeImporter &node) {
  FailureOr<ResizeRule> rule = readRule(node);
  if (failed(rule))
    return failure();
  Value x = node.live(0);
  if (!x)
    return failure();
  Shape from(shapeOf(x));
  FailureOr<Sizes> sizes = readSizes(node, from);
  if (failed(sizes))
    return failure();
  if (!elementCount(sizes->extents))
    return node.fail("makes a tensor of shape " + printShape(sizes->extents) +
                     ", which is too large");
  for (auto [axis, to] : enumerate(sizes->extents)) {
    std::tie(rule->begin, rule->end) = sizes->boxes[axis];
    if (to != from[axis] || sizes->scales[axis] != 1 || rule->begin != 0 ||
        rule->end != 1)
      x = resizeAlong(node, x, axis, *rule, to, sizes->scales[axis]);
  }
  const float value = node.real("extrapolation_value", 0);
  if (x && value != 0 && rule->coordinates == "tf_crop_and_resize")
    if (Value given = outside(node, *rule, from, *sizes, value))
      x = node.map("add", {x, given});
  return node.result(0, x);
}

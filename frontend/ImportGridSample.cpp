//===- ImportGridSample.cpp - Elements of images at places of data --------===//
//
// GridSample: images and volumes are read at any places, which data gives. A
// place becomes the pixels around it, taken as rows of a table of each sample's
// own, and weights; so gradients of images and places follow from those of the
// ops. Kinks and borders have PyTorch's gradients (grid_sample).
//
//===----------------------------------------------------------------------===//

#include "frontend/Rewrites.h"
#include "frontend/WholeNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
enum class Beyond { zeros, border, reflection };

/// For each place a pixel along one axis (or, of combined ones, several) that
/// contributes to it.
struct Tap {
  Value pixel;  ///< whole numbers; of several axes, that of the row-major pixel
  Value weight; ///< null: 1
  Value inside; ///< 1 where the pixel lies in the image, else 0
};

class GridSampler {
public:
  GridSampler(NodeImporter &node, Beyond beyond, bool alignCorners)
      : node(node), beyond(beyond), alignCorners(alignCorners) {}

  /// A coordinate from -1 to 1, in pixels of an axis.
  Value inPixels(Value place, int64_t extent) {
    const double e = double(extent);
    return alignCorners ? scaled(place, (e - 1) / 2, (e - 1) / 2)
                        : scaled(place, e / 2, (e - 1) / 2);
  }

  /// A coordinate that is beyond the image, brought back as `beyond` says.
  Value broughtBack(Value at, int64_t extent) {
    if (beyond == Beyond::zeros)
      return at;
    if (beyond == Beyond::reflection)
      at = reflected(at, extent);
    // No gradient at the border itself.
    const Value last = node.splat(double(extent - 1));
    at = where(map("less", at, last), at, last);
    return where(map("greater", at, node.splat(0)), at, node.splat(0));
  }

  std::vector<Tap> nearest(Value at, int64_t extent) {
    return {{map("round", broughtBack(at, extent)), {}}};
  }

  std::vector<Tap> linear(Value at, int64_t extent) {
    at = broughtBack(at, extent);
    Value low = map("floor", at);
    Value t = map("sub", at, low);
    return {{low, scaled(t, -1, 1)}, {scaled(low, 1, 1), t}};
  }

  /// Keys' kernel with a = -0.75. Pixels are brought back, not coordinates.
  std::vector<Tap> cubic(Value at, int64_t extent) {
    const double a = -0.75;
    Value low = map("floor", at);
    Value t = map("sub", at, low), s = scaled(t, -1, 1);
    // For distances up to 1, and from there to 2.
    auto near = [&](Value x) {
      Value inner = scaled(x, a + 2, -(a + 3));
      return scaled(map("mul", inner, map("mul", x, x)), 1, 1);
    };
    auto far = [&](Value x) {
      Value sum = scaled(x, a, -5 * a);
      sum = scaled(map("mul", sum, x), 1, 8 * a);
      return scaled(map("mul", sum, x), 1, -4 * a);
    };
    const Value weights[] = {far(scaled(t, 1, 1)), near(t), near(s),
                             far(scaled(s, 1, 1))};
    std::vector<Tap> taps;
    for (auto [i, weight] : enumerate(weights))
      taps.push_back(
          {broughtBack(scaled(low, 1, double(i) - 1), extent), weight});
    return taps;
  }

  /// 1 where a pixel lies in an image, else 0.
  Value isInside(Value pixel, int64_t extent) {
    return map("and", map("greater_or_equal", pixel, node.splat(0)),
               map("less", pixel, node.splat(double(extent))));
  }

  /// The tap of several axes and one more.
  Tap both(const Tap &before, const Tap &tap, int64_t extent) {
    return {map("add", scaled(before.pixel, double(extent), 0), tap.pixel),
            tap.weight ? map("mul", before.weight, tap.weight) : Value(),
            map("mul", before.inside, tap.inside)};
  }

  Value map(StringRef fn, Value x) { return node.map(fn, {x}); }
  Value map(StringRef fn, Value x, Value y) { return node.map(fn, {x, y}); }
  Value where(Value condition, Value x, Value y) {
    return node.map("where", {condition, x, y});
  }
  Value scaled(Value x, double factor, double offset) {
    if (factor != 1)
      x = node.map("scale", {x}, {{"alpha", factor}});
    return offset == 0 ? x : node.map("offset", {x}, {{"beta", offset}});
  }

private:
  /// Mirrored at the image's borders as often as it takes.
  Value reflected(Value at, int64_t extent) {
    const double first = alignCorners ? 0 : -0.5;
    const double span = alignCorners ? double(extent - 1) : double(extent);
    if (span == 0)
      return map("mul", at, node.splat(0));
    Value turn = map("mod", scaled(at, 1, -first), node.splat(2 * span));
    Value fromTop = map("abs", scaled(turn, 1, -span));
    return scaled(fromTop, -1, span + first);
  }

  NodeImporter &node;
  Beyond beyond;
  bool alignCorners;
};
} // namespace

/// All combinations of the axes' taps, one behind the other along the places.
static Tap combine(NodeImporter &node, GridSampler &sampler,
                   ArrayRef<std::vector<Tap>> axes, ArrayRef<int64_t> extents) {
  SmallVector<Tap> combined = {{}}; // no axis: one place
  for (auto [taps, extent] : zip_equal(axes, extents)) {
    SmallVector<Tap> longer;
    for (Tap tap : taps) {
      tap.inside = sampler.isInside(tap.pixel, extent);
      tap.pixel = sampler.where(tap.inside, tap.pixel, node.splat(0));
      for (const Tap &before : combined)
        longer.push_back(before.pixel ? sampler.both(before, tap, extent)
                                      : tap);
    }
    combined = std::move(longer);
  }
  auto joined = [&](Value Tap::*part) {
    return combined[0].*part
               ? rewrite::concat(
                     node,
                     map_to_vector(combined,
                                   [&](const Tap &tap) { return tap.*part; }),
                     1)
               : Value();
  };
  return {joined(&Tap::pixel), joined(&Tap::weight), joined(&Tap::inside)};
}

LogicalResult lwcc::importGridSample(NodeImporter &node) {
  StringRef mode = node.text("mode", "linear"),
            padding = node.text("padding_mode", "zeros");
  const bool isLinear = mode == "linear" || mode == "bilinear";
  const bool isCubic = mode == "cubic" || mode == "bicubic";
  if (!isLinear && !isCubic && mode != "nearest")
    return node.fail("has the unknown mode '" + mode + "'");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return node.fail("has the unknown padding_mode '" + padding + "'");
  Value x = node.live(0), grid = node.live(1);
  if (!x || !grid)
    return failure();
  const Shape from(shapeOf(x)), at(shapeOf(grid));
  const int64_t rank = int64_t(from.size()) - 2;
  if ((rank != 2 && rank != 3) || at.size() != from.size() ||
      at.back() != rank || at[0] != from[0] || (isCubic && rank == 3))
    return node.fail("has data of shape " + printShape(from) +
                     " and a grid of shape " + printShape(at) +
                     "; images and volumes with as many coordinates for each "
                     "place are supported, and cubic of images");
  const ArrayRef<int64_t> extents = ArrayRef(from).drop_front(2);
  const int64_t pixels = *elementCount(extents);
  const int64_t count = *elementCount(ArrayRef(at).drop_front().drop_back());
  if (pixels > mostWhole)
    return node.fail("reads images of " + Twine(pixels) +
                     " pixels; at most 2^24 are supported");
  GridSampler sampler(node,
                      padding == "zeros"    ? Beyond::zeros
                      : padding == "border" ? Beyond::border
                                            : Beyond::reflection,
                      node.integer("align_corners", 0) != 0);
  grid = node.reshape(grid, {at[0], count, rank});
  std::vector<std::vector<Tap>> axes;
  for (int64_t axis : seq<int64_t>(0, rank)) {
    // The last axis comes first.
    Value place = node.reshape(
        rewrite::slice(node, grid, 2, rank - 1 - axis, 1), {at[0], count});
    place = sampler.inPixels(place, extents[axis]);
    axes.push_back(isLinear  ? sampler.linear(place, extents[axis])
                   : isCubic ? sampler.cubic(place, extents[axis])
                             : sampler.nearest(place, extents[axis]));
  }
  const Tap tap = combine(node, sampler, axes, extents);
  Value table = rewrite::transpose(
      node, node.reshape(x, {from[0], from[1], pixels}), {0, 2, 1});
  const int64_t taken = shapeOf(tap.pixel)[1];
  Value y = node.create<train::EmbeddingOp>(
      node.tensorOf({from[0], taken, from[1]}), table, tap.pixel);
  // What lies outside counts as 0, but a weight of NaN does count.
  auto column = [&](Value x) { return node.reshape(x, {from[0], taken, 1}); };
  y = sampler.where(column(tap.inside), y, node.splat(0));
  if (tap.weight)
    y = node.map("mul", {y, column(tap.weight)});
  if (taken != count)
    y = node.create<train::ReduceOp>(
        node.tensorOf({from[0], count, from[1]}),
        node.reshape(y, {from[0], taken / count, count, from[1]}),
        ArrayRef<int64_t>(1), false);
  Shape shape = {from[0], from[1]};
  append_range(shape, ArrayRef(at).drop_front().drop_back());
  return node.result(
      0, node.reshape(rewrite::transpose(node, y, {0, 2, 1}), shape));
}

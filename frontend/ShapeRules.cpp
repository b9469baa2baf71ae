//===- ShapeRules.cpp - Shapes of ONNX's data movement --------------------===//

#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace lwcc;
using namespace llvm;

std::optional<int64_t> lwcc::normalizeAxis(int64_t axis, int64_t rank,
                                           std::string &error) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  error = "axis " + std::to_string(axis) + " is outside a tensor of rank " +
          std::to_string(rank);
  return std::nullopt;
}

std::optional<Shape> lwcc::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank,
                                         std::string &error) {
  Shape result;
  for (int64_t axis : axes) {
    std::optional<int64_t> normal = normalizeAxis(axis, rank, error);
    if (!normal)
      return std::nullopt;
    if (is_contained(result, *normal)) {
      error = "axis " + std::to_string(axis) + " is named twice";
      return std::nullopt;
    }
    result.push_back(*normal);
  }
  sort(result);
  return result;
}

std::optional<Shape> lwcc::reshapedShape(ArrayRef<int64_t> from,
                                         ArrayRef<int64_t> target,
                                         bool allowZero, std::string &error) {
  Shape shape(target);
  std::optional<size_t> unknown;
  int64_t known = 1;
  auto fail = [&]() -> std::optional<Shape> {
    error = "cannot reshape " + printShape(from) + " to " + printShape(target);
    return std::nullopt;
  };
  for (auto [d, extent] : enumerate(shape)) {
    if (extent == -1) {
      if (unknown)
        return fail();
      unknown = d;
      continue;
    }
    if (extent == 0 && !allowZero) {
      if (d >= from.size())
        return fail();
      extent = from[d];
    }
    if (extent < 0 || MulOverflow(known, extent, known))
      return fail();
  }
  int64_t count = *elementCount(from);
  if (unknown) {
    if (known == 0 || count % known != 0)
      return fail();
    shape[*unknown] = count / known;
  } else if (known != count) {
    return fail();
  }
  // An empty tensor may be asked to have any other extents.
  return elementCount(shape) ? std::optional<Shape>(shape) : fail();
}

std::optional<Shape> lwcc::flattenedShape(ArrayRef<int64_t> from, int64_t axis,
                                          std::string &error) {
  int64_t rank = from.size();
  if (axis < -rank || axis > rank) {
    error = "axis " + std::to_string(axis) + " is outside a tensor of rank " +
            std::to_string(rank);
    return std::nullopt;
  }
  if (axis < 0)
    axis += rank;
  return Shape{*elementCount(from.take_front(axis)),
               *elementCount(from.drop_front(axis))};
}

std::optional<Shape> lwcc::squeezedShape(ArrayRef<int64_t> from,
                                         std::optional<Shape> axes,
                                         std::string &error) {
  if (axes) {
    axes = normalizeAxes(*axes, from.size(), error);
    if (!axes)
      return std::nullopt;
  }
  Shape shape;
  for (auto [d, extent] : enumerate(from)) {
    bool named = axes && is_contained(*axes, int64_t(d));
    if (named && extent != 1) {
      error = "cannot squeeze dimension " + std::to_string(d) + " of " +
              printShape(from);
      return std::nullopt;
    }
    if (axes ? !named : extent != 1)
      shape.push_back(extent);
  }
  return shape;
}

std::optional<Shape> lwcc::unsqueezedShape(ArrayRef<int64_t> from,
                                           ArrayRef<int64_t> axes,
                                           std::string &error) {
  std::optional<Shape> at =
      normalizeAxes(axes, from.size() + axes.size(), error);
  if (!at)
    return std::nullopt;
  Shape shape(from);
  for (int64_t axis : *at) // sorted
    shape.insert(shape.begin() + axis, 1);
  return shape;
}

std::optional<SliceBounds>
lwcc::sliceBounds(ArrayRef<int64_t> shape, ArrayRef<int64_t> starts,
                  ArrayRef<int64_t> ends, std::optional<Shape> axes,
                  std::optional<Shape> steps, std::string &error) {
  int64_t rank = shape.size();
  SliceBounds bounds{Shape(rank, 0), Shape(rank, 1), Shape(shape)};
  if (!axes)
    axes = to_vector(seq<int64_t>(0, starts.size()));
  if (!steps)
    steps = Shape(axes->size(), 1);
  if (starts.size() != ends.size() || axes->size() != starts.size() ||
      steps->size() != starts.size()) {
    error = "starts, ends, axes and steps have different lengths";
    return std::nullopt;
  }
  for (auto [axis, start, end, step] : zip_equal(*axes, starts, ends, *steps)) {
    std::optional<int64_t> d = normalizeAxis(axis, rank, error);
    if (!d)
      return std::nullopt;
    int64_t extent = shape[*d];
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) {
      error = "has a step of " + std::to_string(step);
      return std::nullopt;
    }
    // Bounds below zero count from the end.
    auto normal = [&](int64_t at) {
      return at >= 0 ? at : at < -extent ? -1 : at + extent;
    };
    int64_t first = 0, last = 0;
    if (extent > 0) {
      first =
          std::clamp<int64_t>(normal(start), 0, step > 0 ? extent : extent - 1);
      last = step > 0 ? std::clamp<int64_t>(normal(end), 0, extent)
                      : std::clamp<int64_t>(normal(end), -1, extent - 1);
    }
    int64_t distance = step > 0 ? last - first : first - last;
    int64_t stride = step > 0 ? step : -step;
    bounds.start[*d] = first;
    bounds.extent[*d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    // One element has no step, however far the file would go for another.
    bounds.step[*d] = bounds.extent[*d] > 1 ? step : 1;
  }
  return bounds;
}

std::optional<int64_t> lwcc::placeOf(int64_t index, int64_t extent,
                                     std::string &error) {
  if (index >= -extent && index < extent)
    return index < 0 ? index + extent : index;
  error = "reads index " + std::to_string(index) + " of an extent of " +
          std::to_string(extent);
  return std::nullopt;
}

std::optional<Shape> lwcc::placesOf(ArrayRef<int64_t> shape,
                                    const HostTensor &indices,
                                    std::string &error) {
  int64_t size = indices.shape.empty() ? 0 : indices.shape.back();
  if (indices.isReal() || size < 1 || size > int64_t(shape.size())) {
    error = "has indices of shape " + printShape(indices.shape) +
            " for data of shape " + printShape(shape);
    return std::nullopt;
  }
  Shape places;
  for (int64_t i = 0; i < indices.size(); i += size) {
    int64_t place = 0;
    for (int64_t d = 0; d < size; ++d) {
      std::optional<int64_t> at =
          placeOf(indices.integers[i + d], shape[d], error);
      if (!at)
        return std::nullopt;
      place = place * shape[d] + *at;
    }
    places.push_back(place);
  }
  return places;
}

std::optional<HostTensor> lwcc::withBatchDims(ArrayRef<int64_t> shape,
                                              const HostTensor &indices,
                                              int64_t batchDims,
                                              std::string &error) {
  if (batchDims == 0)
    return indices;
  ArrayRef<int64_t> own = indices.shape;
  bool fits = !indices.isReal() && batchDims > 0 &&
              batchDims < int64_t(own.size()) &&
              batchDims < int64_t(shape.size()) &&
              own.take_front(batchDims) == shape.take_front(batchDims);
  if (!fits || indices.size() == 0) {
    error = "has batch_dims=" + std::to_string(batchDims) +
            " and indices of shape " + printShape(own) + " for data of shape " +
            printShape(shape);
    return std::nullopt;
  }
  HostTensor longer = HostTensor::empty(indices.kind, own);
  longer.shape.back() += batchDims;
  int64_t size = own.back();
  int64_t each = *elementCount(own.drop_front(batchDims)); // of one in front
  for (int64_t i = 0; i < indices.size(); i += size) {
    Shape front;
    for (int64_t d = batchDims - 1, rest = i / each; d >= 0; --d) {
      front.insert(front.begin(), rest % shape[d]);
      rest /= shape[d];
    }
    longer.integers.insert(longer.integers.end(), front.begin(), front.end());
    for (int64_t d = 0; d < size; ++d)
      longer.integers.push_back(indices.integers[i + d]);
  }
  return longer;
}

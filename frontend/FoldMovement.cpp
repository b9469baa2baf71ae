//===- FoldMovement.cpp - Moving and making elements ----------------------===//
//
// The functions of ConstantFolder.h that move or make elements and compute
// nothing: Reshape, Slice, Gather, Shape, Range and their like.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace lwcc;
using namespace llvm;
using Kind = HostTensor::Kind;
using Inputs = ArrayRef<const HostTensor *>;

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

std::optional<HostTensor> lwcc::foldReshape(const NodeView &node, Inputs inputs,
                                            std::string &error) {
  HostTensor result = *inputs[0];
  StringRef op = node.op();
  std::optional<Shape> shape;
  if (op == "Flatten") {
    shape = flattenedShape(result.shape, node.integer("axis", 1), error);
  } else if (op == "Squeeze") {
    shape =
        squeezedShape(result.shape, integersOf(node, inputs, 1, "axes"), error);
  } else {
    std::optional<Shape> values =
        integersOf(node, inputs, 1, op == "Reshape" ? "shape" : "axes");
    if (!values) {
      error = "lacks its second input";
      return std::nullopt;
    }
    shape = op == "Reshape"
                ? reshapedShape(result.shape, *values,
                                node.integer("allowzero", 0) != 0, error)
                : unsqueezedShape(result.shape, *values, error);
  }
  if (!shape)
    return std::nullopt;
  result.shape = *shape;
  return result;
}

/// Element i of the result is element at(i) of x.
static std::optional<HostTensor> rearrange(const HostTensor &x,
                                           ArrayRef<int64_t> shape,
                                           function_ref<int64_t(int64_t)> at) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count || *count > foldLimit)
    return std::nullopt;
  HostTensor result = HostTensor::empty(x.kind, shape);
  for (int64_t i = 0; i < *count; ++i)
    result.append(x, at(i));
  return result;
}

std::optional<HostTensor>
lwcc::foldTranspose(const NodeView &node, Inputs inputs, std::string &error) {
  const HostTensor &x = *inputs[0];
  int64_t rank = x.shape.size();
  Shape perm =
      node.integers("perm").value_or(to_vector(reverse(seq<int64_t>(0, rank))));
  std::optional<Shape> sorted = normalizeAxes(perm, rank, error);
  if (!sorted || int64_t(perm.size()) != rank) {
    error = "has a perm that is no permutation";
    return std::nullopt;
  }
  Shape own = stridesOf(x.shape), shape, strides;
  for (int64_t d : perm) {
    d = d < 0 ? d + rank : d;
    shape.push_back(x.shape[d]);
    strides.push_back(own[d]);
  }
  return rearrange(x, shape, [&](int64_t linear) {
    int64_t at = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      at += linear % shape[d] * strides[d];
      linear /= shape[d];
    }
    return at;
  });
}

std::optional<HostTensor> lwcc::foldExpand(const NodeView &, Inputs inputs,
                                           std::string &error) {
  const HostTensor &x = *inputs[0];
  std::optional<Shape> shape =
      broadcast(x.shape, ArrayRef<int64_t>(inputs[1]->integers));
  if (!shape) {
    error = "cannot expand " + printShape(x.shape) + " to " +
            printShape(inputs[1]->integers);
    return std::nullopt;
  }
  return rearrange(x, *shape, BroadcastReader(x.shape, *shape));
}

std::optional<HostTensor> lwcc::foldTile(const NodeView &, Inputs inputs,
                                         std::string &error) {
  const HostTensor &x = *inputs[0], &repeats = *inputs[1];
  if (repeats.integers.size() != x.shape.size()) {
    error = "needs one repeat per dimension";
    return std::nullopt;
  }
  Shape shape;
  for (auto [extent, repeat] : zip_equal(x.shape, repeats.integers)) {
    int64_t product;
    if (repeat < 0 || MulOverflow(extent, repeat, product)) {
      error = "repeats " + std::to_string(repeat) + " times";
      return std::nullopt;
    }
    shape.push_back(product);
  }
  Shape own = stridesOf(x.shape);
  return rearrange(x, shape, [&](int64_t linear) {
    int64_t at = 0;
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      at += linear % shape[d] % x.shape[d] * own[d];
      linear /= shape[d];
    }
    return at;
  });
}

std::optional<HostTensor> lwcc::foldConcat(const NodeView &node, Inputs inputs,
                                           std::string &error) {
  int64_t rank = inputs[0]->shape.size();
  std::optional<int64_t> axis =
      normalizeAxis(node.integer("axis", 0), rank, error);
  if (!axis)
    return std::nullopt;
  Shape shape = inputs[0]->shape;
  shape[*axis] = 0;
  for (const HostTensor *input : inputs) {
    Shape other = input->shape, mine = shape;
    if (other.size() == mine.size() &&
        !AddOverflow(shape[*axis], other[*axis], shape[*axis]))
      other[*axis] = mine[*axis] = 0;
    if (other != mine || input->isReal() != inputs[0]->isReal()) {
      error = "joins tensors that do not fit each other";
      return std::nullopt;
    }
  }
  if (elementCount(shape).value_or(foldLimit + 1) > foldLimit)
    return std::nullopt;
  HostTensor result = HostTensor::empty(inputs[0]->kind, shape);
  int64_t outer = *elementCount(ArrayRef(shape).take_front(*axis));
  for (int64_t o = 0; o < outer; ++o)
    for (const HostTensor *input : inputs) {
      int64_t block = outer == 0 ? 0 : input->size() / outer;
      for (int64_t i = 0; i < block; ++i)
        result.append(*input, o * block + i);
    }
  return result;
}

std::optional<HostTensor> lwcc::foldGather(const NodeView &node, Inputs inputs,
                                           std::string &error) {
  const HostTensor &x = *inputs[0], &indices = *inputs[1];
  std::optional<int64_t> axis =
      normalizeAxis(node.integer("axis", 0), x.shape.size(), error);
  if (!axis)
    return std::nullopt;
  if (indices.isReal()) {
    error = "needs integer indices";
    return std::nullopt;
  }
  int64_t extent = x.shape[*axis];
  for (int64_t index : indices.integers)
    if (index < -extent || index >= extent) {
      error = "index " + std::to_string(index) + " is outside an extent of " +
              std::to_string(extent);
      return std::nullopt;
    }
  Shape shape(ArrayRef(x.shape).take_front(*axis));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, ArrayRef(x.shape).drop_front(*axis + 1));
  int64_t inner = *elementCount(ArrayRef(x.shape).drop_front(*axis + 1));
  int64_t picks = indices.size();
  return rearrange(x, shape, [&](int64_t linear) {
    int64_t index = indices.integers[linear / inner % picks];
    int64_t outer = linear / inner / picks;
    return (outer * extent + (index < 0 ? index + extent : index)) * inner +
           linear % inner;
  });
}

std::optional<HostTensor> lwcc::foldSlice(const NodeView &node, Inputs inputs,
                                          std::string &error) {
  const HostTensor &x = *inputs[0];
  std::optional<Shape> starts = integersOf(node, inputs, 1, "starts");
  std::optional<Shape> ends = integersOf(node, inputs, 2, "ends");
  if (!starts || !ends) {
    error = "lacks starts or ends";
    return std::nullopt;
  }
  std::optional<SliceBounds> bounds =
      sliceBounds(x.shape, *starts, *ends, integersOf(node, inputs, 3, "axes"),
                  integersOf(node, inputs, 4, "steps"), error);
  if (!bounds)
    return std::nullopt;
  Shape own = stridesOf(x.shape);
  return rearrange(x, bounds->extent, [&](int64_t linear) {
    int64_t at = 0;
    for (int64_t d = int64_t(own.size()) - 1; d >= 0; --d) {
      at += (bounds->start[d] + linear % bounds->extent[d] * bounds->step[d]) *
            own[d];
      linear /= bounds->extent[d];
    }
    return at;
  });
}

std::optional<HostTensor>
lwcc::foldGatherND(const NodeView &node, Inputs inputs, std::string &error) {
  const HostTensor &x = *inputs[0];
  std::optional<HostTensor> whole =
      withBatchDims(x.shape, *inputs[1], node.integer("batch_dims", 0), error);
  if (!whole)
    return std::nullopt;
  const HostTensor &indices = *whole;
  std::optional<Shape> places = placesOf(x.shape, indices, error);
  if (!places)
    return std::nullopt;
  Shape shape(ArrayRef(indices.shape).drop_back());
  llvm::append_range(shape, ArrayRef(x.shape).drop_front(indices.shape.back()));
  int64_t row =
      *elementCount(ArrayRef(x.shape).drop_front(indices.shape.back()));
  return rearrange(x, shape, [&](int64_t linear) {
    return (*places)[linear / row] * row + linear % row;
  });
}

std::optional<HostTensor>
lwcc::foldScatterND(const NodeView &node, Inputs inputs, std::string &error) {
  const HostTensor &x = *inputs[0], &updates = *inputs[2];
  if (node.text("reduction", "none") != "none")
    return std::nullopt;
  std::optional<Shape> places = placesOf(x.shape, *inputs[1], error);
  if (!places)
    return std::nullopt;
  int64_t row =
      *elementCount(ArrayRef(x.shape).drop_front(inputs[1]->shape.back()));
  if (updates.kind != x.kind ||
      updates.size() != int64_t(places->size()) * row) {
    error = "has updates that do not fit its indices";
    return std::nullopt;
  }
  HostTensor result = x;
  for (auto [i, place] : llvm::enumerate(*places))
    for (int64_t j = 0; j < row; ++j) {
      int64_t from = int64_t(i) * row + j, to = place * row + j;
      if (x.isReal())
        result.reals[to] = updates.reals[from];
      else
        result.integers[to] = updates.integers[from];
    }
  return result;
}

std::optional<HostTensor> lwcc::foldTrilu(const NodeView &node, Inputs inputs,
                                          std::string &error) {
  HostTensor result = *inputs[0];
  size_t rank = result.shape.size();
  if (rank < 2) {
    error = "needs matrices, not data of shape " + printShape(result.shape);
    return std::nullopt;
  }
  int64_t k = inputs.size() > 1 && inputs[1] && inputs[1]->size() == 1
                  ? int64_t(inputs[1]->at(0))
                  : 0;
  bool upper = node.integer("upper", 1) != 0;
  int64_t rows = result.shape[rank - 2], columns = result.shape[rank - 1];
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t diagonal = i % columns - i / columns % rows;
    if (upper ? diagonal >= k : diagonal <= k)
      continue;
    if (result.isReal())
      result.reals[i] = 0;
    else
      result.integers[i] = 0;
  }
  return result;
}

std::optional<HostTensor> lwcc::foldGatherElements(const NodeView &node,
                                                   Inputs inputs,
                                                   std::string &error) {
  const HostTensor &x = *inputs[0], &at = *inputs[1];
  std::optional<int64_t> axis =
      normalizeAxis(node.integer("axis", 0), x.shape.size(), error);
  if (!axis)
    return std::nullopt;
  bool fits = !at.isReal() && at.shape.size() == x.shape.size();
  for (size_t d = 0; fits && d < at.shape.size(); ++d)
    fits = int64_t(d) == *axis || at.shape[d] <= x.shape[d];
  if (!fits) {
    error = "has indices of shape " + printShape(at.shape) +
            " for data of shape " + printShape(x.shape);
    return std::nullopt;
  }
  const Shape from = stridesOf(x.shape), own = stridesOf(at.shape);
  Shape places;
  for (int64_t i = 0; i < at.size(); ++i) {
    std::optional<int64_t> index =
        placeOf(at.integers[i], x.shape[*axis], error);
    if (!index)
      return std::nullopt;
    int64_t place = *index * from[*axis];
    for (size_t d = 0; d < own.size(); ++d)
      if (int64_t(d) != *axis)
        place += i / own[d] % at.shape[d] * from[d];
    places.push_back(place);
  }
  return rearrange(x, at.shape, [&](int64_t i) { return places[i]; });
}

//===----------------------------------------------------------------------===//
// Makers
//===----------------------------------------------------------------------===//

std::optional<HostTensor> lwcc::foldConstantOfShape(const NodeView &node,
                                                    Inputs inputs,
                                                    std::string &error) {
  ArrayRef<int64_t> shape = inputs[0]->integers;
  std::optional<int64_t> count = elementCount(shape);
  if (!count) {
    error = "makes the impossible shape " + printShape(shape);
    return std::nullopt;
  }
  if (*count > foldLimit)
    return std::nullopt;
  HostTensor value = HostTensor::scalar(0.0f);
  if (const onnx::TensorProto *stored = node.tensor("value")) {
    std::optional<StringRef> raw;
    if (stored->has_raw_data())
      raw = stored->raw_data();
    if (!elementKind(stored->data_type()) ||
        stored->data_location() == onnx::TensorProto::EXTERNAL) {
      error = "has a value of an unsupported kind";
      return std::nullopt;
    }
    value = decodeTensor(*stored, raw);
  }
  if (value.size() != 1) {
    error = "needs a value of one element";
    return std::nullopt;
  }
  return rearrange(value, shape, [](int64_t) { return 0; });
}

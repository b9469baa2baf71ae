//===- ConstantFolder.cpp - ONNX nodes evaluated at compile time ----------===//
//
// In two halves: shapes of data movement (shared with what is imported), and
// the evaluation itself. Integers are int64 whatever their declared width.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace lwcc;
using namespace llvm;
using Kind = HostTensor::Kind;
using Inputs = ArrayRef<const HostTensor *>;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

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
  return shape;
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
    bounds.step[*d] = step;
    bounds.extent[*d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  }
  return bounds;
}

std::optional<Shape> lwcc::integersOf(const NodeView &node, Inputs inputs,
                                      unsigned input, StringRef attribute) {
  if (input < inputs.size() && inputs[input] && !inputs[input]->isReal())
    return Shape(inputs[input]->integers.begin(),
                 inputs[input]->integers.end());
  return node.integers(attribute);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

namespace {
/// Walks a result row-major and yields the element of an operand that numpy's
/// broadcasting rule reads.
class BroadcastReader {
public:
  BroadcastReader(ArrayRef<int64_t> operand, ArrayRef<int64_t> result)
      : result(result), strides(result.size(), 0) {
    Shape own = stridesOf(operand);
    size_t extra = result.size() - operand.size();
    for (size_t d = 0; d < operand.size(); ++d)
      strides[extra + d] = operand[d] == 1 ? 0 : own[d];
  }
  int64_t operator()(int64_t linear) const {
    int64_t at = 0;
    for (int64_t d = int64_t(result.size()) - 1; d >= 0; --d) {
      at += linear % result[d] * strides[d];
      linear /= result[d];
    }
    return at;
  }

private:
  ArrayRef<int64_t> result;
  Shape strides;
};
} // namespace

static int64_t toInteger(double value) {
  return std::fabs(value) < 9.0e18 ? int64_t(value) : 0; // also NaN
}

static int64_t power(int64_t base, int64_t exponent) {
  return toInteger(std::pow(double(base), double(exponent)));
}

/// Wrapping arithmetic, so that a hostile file cannot overflow.
static int64_t wrap(uint64_t value) { return int64_t(value); }

static std::optional<int64_t> integerOp(StringRef op, int64_t a, int64_t b,
                                        bool fmod) {
  if (op == "Div" || op == "Mod") {
    if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1))
      return std::nullopt;
    if (op == "Div")
      return a / b;
    int64_t rest = a % b;
    return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return StringSwitch<std::function<int64_t()>>(op)
      .Case("Add", [&] { return wrap(uint64_t(a) + uint64_t(b)); })
      .Case("Sum", [&] { return wrap(uint64_t(a) + uint64_t(b)); })
      .Case("Sub", [&] { return wrap(uint64_t(a) - uint64_t(b)); })
      .Case("Mul", [&] { return wrap(uint64_t(a) * uint64_t(b)); })
      .Case("Pow", [&] { return power(a, b); })
      .Case("Min", [&] { return std::min(a, b); })
      .Case("Max", [&] { return std::max(a, b); })
      .Case("And", [&] { return int64_t(a && b); })
      .Case("Or", [&] { return int64_t(a || b); })
      .Default([] { return 0; })();
}

static float realOp(StringRef op, float a, float b) {
  return StringSwitch<std::function<float()>>(op)
      .Case("Add", [&] { return a + b; })
      .Case("Sum", [&] { return a + b; })
      .Case("Sub", [&] { return a - b; })
      .Case("Mul", [&] { return a * b; })
      .Case("Div", [&] { return a / b; })
      .Case("Mod", [&] { return std::fmod(a, b); })
      .Case("Pow", [&] { return std::pow(a, b); })
      .Case("Min", [&] { return std::min(a, b); })
      .Case("Max", [&] { return std::max(a, b); })
      .Default([] { return 0.0f; })();
}

static std::optional<bool> compare(StringRef op, double a, double b) {
  if (op == "Equal")
    return a == b;
  if (op == "Less")
    return a < b;
  if (op == "LessOrEqual")
    return a <= b;
  if (op == "Greater")
    return a > b;
  if (op == "GreaterOrEqual")
    return a >= b;
  return std::nullopt;
}

static std::optional<HostTensor> binary(const NodeView &node,
                                        const HostTensor &a,
                                        const HostTensor &b,
                                        std::string &error) {
  std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if (!shape) {
    error = "cannot broadcast " + printShape(a.shape) + " and " +
            printShape(b.shape);
    return std::nullopt;
  }
  std::optional<int64_t> count = elementCount(*shape);
  if (!count || *count > foldLimit)
    return std::nullopt;
  StringRef op = node.op();
  bool comparison = compare(op, 0, 0).has_value();
  bool real = a.isReal() || b.isReal();
  bool logical = op == "And" || op == "Or";
  if (logical && real) {
    error = "needs booleans";
    return std::nullopt;
  }
  HostTensor result = HostTensor::empty(comparison || logical ? Kind::boolean
                                        : real                ? Kind::real
                                                              : Kind::integer,
                                        *shape);
  BroadcastReader readA(a.shape, *shape), readB(b.shape, *shape);
  bool fmod = node.integer("fmod", 0) != 0;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t ia = readA(i), ib = readB(i);
    if (comparison) {
      bool both = !a.isReal() && !b.isReal();
      // Integers compare as such: a double does not hold INT64_MAX.
      result.integers.push_back(both && op == "Equal"
                                    ? a.integers[ia] == b.integers[ib]
                                    : *compare(op, a.at(ia), b.at(ib)));
    } else if (result.isReal()) {
      result.reals.push_back(realOp(op, float(a.at(ia)), float(b.at(ib))));
    } else {
      std::optional<int64_t> value =
          integerOp(op, a.integers[ia], b.integers[ib], fmod);
      if (!value) {
        error = "divides by zero";
        return std::nullopt;
      }
      result.integers.push_back(*value);
    }
  }
  return result;
}

std::optional<HostTensor>
lwcc::foldArithmetic(const NodeView &node, Inputs inputs, std::string &error) {
  std::optional<HostTensor> result = *inputs[0];
  for (const HostTensor *input : inputs.drop_front()) {
    result = binary(node, *result, *input, error);
    if (!result)
      return std::nullopt;
  }
  return result;
}

std::optional<HostTensor> lwcc::foldUnary(const NodeView &node, Inputs inputs,
                                          std::string &error) {
  HostTensor result = *inputs[0];
  StringRef op = node.op();
  if (op == "Not") {
    for (int64_t &value : result.integers)
      value = !value;
    return result;
  }
  auto real = [&](float x) {
    return StringSwitch<std::function<float()>>(op)
        .Case("Neg", [&] { return -x; })
        .Case("Abs", [&] { return std::fabs(x); })
        .Case("Floor", [&] { return std::floor(x); })
        .Case("Ceil", [&] { return std::ceil(x); })
        .Case("Round", [&] { return std::nearbyint(x); })
        .Case("Sqrt", [&] { return std::sqrt(x); })
        .Case("Exp", [&] { return std::exp(x); })
        .Case("Log", [&] { return std::log(x); })
        .Case("Reciprocal", [&] { return 1.0f / x; })
        .Case("Sign", [&] { return float((x > 0) - (x < 0)); })
        .Default([] { return 0.0f; })();
  };
  for (float &value : result.reals)
    value = real(value);
  for (int64_t &value : result.integers) {
    if (op == "Neg")
      value = wrap(-uint64_t(value));
    else if (op == "Abs")
      value = value < 0 ? wrap(-uint64_t(value)) : value;
    else if (op == "Sign")
      value = (value > 0) - (value < 0);
  }
  return result;
}

std::optional<HostTensor> lwcc::foldIdentity(const NodeView &, Inputs inputs,
                                             std::string &) {
  return *inputs[0];
}

std::optional<HostTensor> lwcc::foldCast(const NodeView &node, Inputs inputs,
                                         std::string &error) {
  const HostTensor &x = *inputs[0];
  std::optional<Kind> to = elementKind(int32_t(node.integer("to", 0)));
  if (!to) {
    error = "casts to the unsupported type " +
            elementTypeName(int32_t(node.integer("to", 0)));
    return std::nullopt;
  }
  HostTensor result = HostTensor::empty(*to, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (*to == Kind::real)
      result.reals.push_back(float(x.at(i)));
    else if (*to == Kind::boolean)
      result.integers.push_back(x.at(i) != 0);
    else if (!x.isReal())
      result.integers.push_back(x.integers[i]);
    else
      result.integers.push_back(toInteger(x.reals[i]));
  }
  return result;
}

std::optional<HostTensor> lwcc::foldWhere(const NodeView &, Inputs inputs,
                                          std::string &error) {
  const HostTensor &condition = *inputs[0], &a = *inputs[1], &b = *inputs[2];
  std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if (shape)
    shape = broadcast(*shape, condition.shape);
  if (!shape || condition.isReal() || a.isReal() != b.isReal()) {
    error = "has inputs that do not fit each other";
    return std::nullopt;
  }
  std::optional<int64_t> count = elementCount(*shape);
  if (!count || *count > foldLimit)
    return std::nullopt;
  HostTensor result = HostTensor::empty(a.kind, *shape);
  BroadcastReader readC(condition.shape, *shape), readA(a.shape, *shape),
      readB(b.shape, *shape);
  for (int64_t i = 0; i < *count; ++i) {
    if (condition.integers[readC(i)])
      result.append(a, readA(i));
    else
      result.append(b, readB(i));
  }
  return result;
}

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
    if (other.size() == mine.size()) {
      shape[*axis] += other[*axis];
      other[*axis] = mine[*axis] = 0;
    }
    if (other != mine || input->isReal() != inputs[0]->isReal()) {
      error = "joins tensors that do not fit each other";
      return std::nullopt;
    }
  }
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

//===----------------------------------------------------------------------===//
// Makers and reductions
//===----------------------------------------------------------------------===//

std::optional<HostTensor> lwcc::foldRange(const NodeView &, Inputs inputs,
                                          std::string &error) {
  for (const HostTensor *input : inputs)
    if (input->size() != 1) {
      error = "needs scalars";
      return std::nullopt;
    }
  double start = inputs[0]->at(0), limit = inputs[1]->at(0),
         delta = inputs[2]->at(0);
  double count = delta == 0 ? 0 : std::ceil((limit - start) / delta);
  if (!(count <= double(foldLimit))) {
    error = "makes too many elements";
    return std::nullopt;
  }
  int64_t n = count > 0 ? int64_t(count) : 0;
  HostTensor result = HostTensor::empty(inputs[0]->kind, {n});
  for (int64_t i = 0; i < n; ++i) {
    if (result.isReal())
      result.reals.push_back(float(start + double(i) * delta));
    else
      result.integers.push_back(wrap(uint64_t(inputs[0]->integers[0]) +
                                     uint64_t(i) * uint64_t(toInteger(delta))));
  }
  return result;
}

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

std::optional<HostTensor> lwcc::foldReduce(const NodeView &node, Inputs inputs,
                                           std::string &error) {
  const HostTensor &x = *inputs[0];
  std::optional<Shape> axes = integersOf(node, inputs, 1, "axes");
  int64_t rank = x.shape.size();
  if (!axes || axes->empty()) {
    if (node.integer("noop_with_empty_axes", 0))
      return x;
    axes = to_vector(seq<int64_t>(0, rank));
  }
  axes = normalizeAxes(*axes, rank, error);
  if (!axes)
    return std::nullopt;
  bool keep = node.integer("keepdims", 1) != 0;
  Shape kept = x.shape, shape;
  for (auto [d, extent] : enumerate(x.shape)) {
    if (!is_contained(*axes, int64_t(d)))
      shape.push_back(extent);
    else
      kept[d] = 1;
  }
  HostTensor result = HostTensor::empty(x.kind, keep ? kept : shape);
  int64_t count = *elementCount(kept);
  SmallVector<int64_t> first(count, -1);
  BroadcastReader target(kept, x.shape);
  StringRef op = node.op();
  if (op != "ReduceSum" && op != "ReduceProd" && x.size() == 0)
    return std::nullopt;
  if (result.isReal())
    result.reals.assign(count, op == "ReduceProd" ? 1.0f : 0.0f);
  else
    result.integers.assign(count, op == "ReduceProd");
  StringRef combine = StringSwitch<StringRef>(op)
                          .Case("ReduceSum", "Add")
                          .Case("ReduceProd", "Mul")
                          .Case("ReduceMin", "Min")
                          .Default("Max");
  bool extremum = combine == "Min" || combine == "Max";
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t at = target(i);
    bool copy = extremum && std::exchange(first[at], i) < 0;
    if (result.isReal())
      result.reals[at] =
          copy ? x.reals[i] : realOp(combine, result.reals[at], x.reals[i]);
    else
      result.integers[at] =
          copy ? x.integers[i]
               : *integerOp(combine, result.integers[at], x.integers[i], false);
  }
  return result;
}

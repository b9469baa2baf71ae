//===- ConstantFolder.cpp - ONNX nodes evaluated at compile time ----------===//
//
// The functions of ConstantFolder.h that compute; FoldMovement.cpp has those
// that only move or make elements, FoldSums.cpp ranges and running sums.
// Integers of every declared width are computed as int64.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

using namespace lwcc;
using namespace llvm;
using Kind = HostTensor::Kind;
using Inputs = ArrayRef<const HostTensor *>;

std::optional<Shape> lwcc::integersOf(const NodeView &node, Inputs inputs,
                                      unsigned input, StringRef attribute) {
  if (input < inputs.size() && inputs[input] && !inputs[input]->isReal())
    return Shape(inputs[input]->integers.begin(),
                 inputs[input]->integers.end());
  return node.integers(attribute);
}

int64_t lwcc::toInteger(double value) {
  return std::fabs(value) < 9.0e18 ? int64_t(value) : 0; // also NaN
}

static int64_t power(int64_t base, int64_t exponent) {
  return toInteger(std::pow(double(base), double(exponent)));
}

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
      .Case("Xor", [&] { return int64_t(!a != !b); })
      .Default([] { return 0; })();
}

/// What remains has the divisor's sign, or with `fmod` the dividend's.
static float remainderOf(float a, float b, bool fmod) {
  float rest = std::fmod(a, b);
  return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static float realOp(StringRef op, float a, float b, bool fmod) {
  return StringSwitch<std::function<float()>>(op)
      .Case("Add", [&] { return a + b; })
      .Case("Sum", [&] { return a + b; })
      .Case("Sub", [&] { return a - b; })
      .Case("Mul", [&] { return a * b; })
      .Case("Div", [&] { return a / b; })
      .Case("Mod", [&] { return remainderOf(a, b, fmod); })
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
  bool logical = op == "And" || op == "Or" || op == "Xor";
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
      result.reals.push_back(
          realOp(op, float(a.at(ia)), float(b.at(ib)), fmod));
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
        .Case("Sin", [&] { return std::sin(x); })
        .Case("Cos", [&] { return std::cos(x); })
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

std::optional<HostTensor> lwcc::foldClip(const NodeView &node, Inputs inputs,
                                         std::string &error) {
  HostTensor result = *inputs[0];
  auto bound = [&](size_t i, StringRef attribute, double otherwise) {
    if (i >= inputs.size() || !inputs[i])
      return double(node.real(attribute, float(otherwise)));
    if (inputs[i]->size() != 1)
      error = "has bounds that are no scalars";
    return error.empty() ? inputs[i]->at(0) : otherwise;
  };
  const double low = bound(1, "min", -INFINITY),
               high = bound(2, "max", INFINITY);
  if (!error.empty())
    return std::nullopt;
  for (float &value : result.reals)
    value = float(value < low ? low : value > high ? high : value);
  auto whole = [](double bound) {
    return bound >= 0x1p63    ? std::numeric_limits<int64_t>::max()
           : bound <= -0x1p63 ? std::numeric_limits<int64_t>::min()
                              : int64_t(bound);
  };
  for (int64_t &value : result.integers)
    value = double(value) < low    ? whole(low)
            : double(value) > high ? whole(high)
                                   : value;
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
  // An empty tensor may have a large result.
  int64_t count = *elementCount(kept);
  if (count > foldLimit)
    return std::nullopt;
  SmallVector<int64_t> first(count, -1);
  BroadcastReader target(kept, x.shape);
  StringRef op = node.op();
  if (op != "ReduceSum" && op != "ReduceProd" && x.size() == 0) {
    error = "reduces an empty tensor";
    return std::nullopt;
  }
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
          copy ? x.reals[i]
               : realOp(combine, result.reals[at], x.reals[i], false);
    else
      result.integers[at] =
          copy ? x.integers[i]
               : *integerOp(combine, result.integers[at], x.integers[i], false);
  }
  return result;
}

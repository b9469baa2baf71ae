//===- Elementwise.cpp - The table of elementwise functions ---------------===//
//
// At ties and NaN derivatives are PyTorch's. A gradient is written in y where
// it can be, since then the input need not be kept for the backward pass.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Elementwise.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

using namespace lwcc;
using llvm::StringRef;

namespace {

constexpr unsigned maxInputs = 7;
constexpr unsigned maxParams = 2;

struct Row {
  StringRef name;
  unsigned inputs;
  StringRef params[maxParams];
  StringRef value;
  StringRef gradients[maxInputs];
};

constexpr Row rows[] = {
    // Two inputs.
    {"add", 2, {}, "x0 + x1", {"dy", "dy"}},
    {"sub", 2, {}, "x0 - x1", {"dy", "-dy"}},
    {"mul", 2, {}, "x0 * x1", {"dy * x1", "dy * x0"}},
    {"div", 2, {}, "x0 / x1", {"dy / x1", "-dy * (y / x1)"}},
    {"max",
     2,
     {},
     "max(x0, x1)",
     {"x0 == x1 ? 0.5f * dy : x0 < x1 ? 0.0f : dy",
      "x0 == x1 ? 0.5f * dy : x1 < x0 ? 0.0f : dy"}},
    {"min",
     2,
     {},
     "min(x0, x1)",
     {"x0 == x1 ? 0.5f * dy : x0 > x1 ? 0.0f : dy",
      "x0 == x1 ? 0.5f * dy : x1 > x0 ? 0.0f : dy"}},
    {"pow",
     2,
     {},
     "pow(x0, x1)",
     {"x1 == 0.0f ? 0.0f : dy * (x1 * pow(x0, x1 - 1.0f))",
      "x0 == 0.0f && x1 >= 0.0f ? 0.0f : dy * (y * log(x0))"}},

    // Losses of numbers x0 against targets x1, of which NaN is none.
    {"squared_error",
     2,
     {},
     "x1 == x1 ? (x0 - x1) * (x0 - x1) : 0.0f",
     {"x1 == x1 ? dy * (2.0f * (x0 - x1)) : 0.0f",
      "x1 == x1 ? dy * (2.0f * (x1 - x0)) : 0.0f"}},
    {"absolute_error",
     2,
     {},
     "x1 == x1 ? abs(x0 - x1) : 0.0f",
     {"x0 > x1 ? dy : x0 < x1 ? -dy : 0.0f * dy",
      "x0 > x1 ? -dy : x0 < x1 ? dy : 0.0f * dy"}},
    {"huber_error",
     2,
     {},
     "x1 == x1 ? (abs(x0 - x1) <= 1.0f ? 0.5f * (x0 - x1) * (x0 - x1) : "
     "abs(x0 - x1) - 0.5f) : 0.0f",
     {"x1 == x1 ? dy * min(max(x0 - x1, -1.0f), 1.0f) : 0.0f",
      "x1 == x1 ? dy * min(max(x1 - x0, -1.0f), 1.0f) : 0.0f"}},
    {"output_as_loss",
     2,
     {},
     "x1 == x1 ? x0 : 0.0f",
     {"x1 == x1 ? dy : 0.0f", "-"}},
    // Of the logit x0; as softplus, it does not overflow.
    {"binary_cross_entropy",
     2,
     {},
     "x1 == x1 ? max(x0, 0.0f) - x0 * x1 + log(1.0f + exp(-abs(x0))) : 0.0f",
     {"x1 == x1 ? dy * (sigmoid(x0) - x1) : 0.0f",
      "x1 == x1 ? -dy * x0 : 0.0f"}},

    // Of the log-probability x0 of a class and its share x1 of a sample, of
    // which NaN is none.
    {"soft_cross_entropy",
     2,
     {"own", "any"},
     "x1 == x1 ? -x0 * (own * x1 + any) : 0.0f",
     {"x1 == x1 ? -dy * (own * x1 + any) : 0.0f",
      "x1 == x1 ? -dy * (own * x0) : 0.0f"}},

    // Activations.
    {"relu", 1, {}, "max(x0, 0.0f)", {"y <= 0.0f ? 0.0f : dy"}},
    {"leaky_relu",
     1,
     {"alpha"},
     "x0 > 0.0f ? x0 : alpha * x0",
     {"x0 > 0.0f ? dy : alpha * dy"}},
    {"clip",
     1,
     {"lo", "hi"},
     "min(max(x0, lo), hi)",
     {"x0 >= lo && x0 <= hi ? dy : 0.0f"}},
    {"sigmoid", 1, {}, "sigmoid(x0)", {"dy * ((1.0f - y) * y)"}},
    {"hard_sigmoid",
     1,
     {"alpha", "beta"},
     "min(max(alpha * x0 + beta, 0.0f), 1.0f)",
     {"y > 0.0f && y < 1.0f ? alpha * dy : 0.0f"}},
    {"hard_swish",
     1,
     {},
     "x0 * min(max(x0 + 3.0f, 0.0f), 6.0f) * 0.16666667f",
     {"x0 <= -3.0f ? 0.0f : x0 < 3.0f ? dy * (x0 * 0.33333334f + 0.5f) : dy"}},
    {"tanh", 1, {}, "tanh(x0)", {"dy * (1.0f - y * y)"}},
    {"elu",
     1,
     {"alpha"},
     "x0 > 0.0f ? x0 : alpha * (exp(x0) - 1.0f)",
     {"x0 <= 0.0f ? dy * (alpha * exp(x0)) : dy"}},
    // max(x, 0) + log(1 + e^-|x|) does not overflow.
    {"softplus",
     1,
     {},
     "max(x0, 0.0f) + log(1.0f + exp(-abs(x0)))",
     {"dy * sigmoid(x0)"}},
    {"gelu",
     1,
     {},
     "0.5f * x0 * (1.0f + erf(x0 * 0.70710677f))",
     {"dy * (0.5f * (1.0f + erf(x0 * 0.70710677f)) + x0 * 0.3989423f * "
      "exp(-0.5f * x0 * x0))"}},
    // (1 + tanh(u)) / 2 = sigmoid(2u), which is shorter in value and gradient.
    {"gelu_tanh",
     1,
     {},
     "x0 * sigmoid(1.5957691f * x0 * (1.0f + 0.044715f * x0 * x0))",
     {"dy * sigmoid(1.5957691f * x0 * (1.0f + 0.044715f * x0 * x0)) * (1.0f + "
      "x0 * (1.0f - sigmoid(1.5957691f * x0 * (1.0f + 0.044715f * x0 * x0))) * "
      "1.5957691f * (1.0f + 0.134145f * x0 * x0))"}},

    // Functions.
    {"exp", 1, {}, "exp(x0)", {"dy * y"}},
    {"log", 1, {}, "log(x0)", {"dy / x0"}},
    {"sqrt", 1, {}, "sqrt(x0)", {"dy / (2.0f * y)"}},
    {"neg", 1, {}, "-x0", {"-dy"}},
    {"abs", 1, {}, "abs(x0)", {"x0 > 0.0f ? dy : x0 < 0.0f ? -dy : 0.0f * dy"}},
    {"reciprocal", 1, {}, "1.0f / x0", {"-dy * (y * y)"}},
    // What remains of a division: with the dividend's sign, or the divisor's.
    {"fmod",
     2,
     {},
     "fmod(x0, x1)",
     {"dy", "dy * (x0 / x1 < 0.0f ? floor(-x0 / x1) : -floor(x0 / x1))"}},
    {"mod",
     2,
     {},
     "fmod(x0, x1) * x1 < 0.0f ? fmod(x0, x1) + x1 : fmod(x0, x1)",
     {"dy", "-dy * floor(x0 / x1)"}},
    {"sin", 1, {}, "sin(x0)", {"dy * cos(x0)"}},
    {"cos", 1, {}, "cos(x0)", {"-dy * sin(x0)"}},
    {"tan", 1, {}, "tan(x0)", {"dy * (1.0f + y * y)"}},
    {"asin", 1, {}, "asin(x0)", {"dy / sqrt(1.0f - x0 * x0)"}},
    {"acos", 1, {}, "acos(x0)", {"-dy / sqrt(1.0f - x0 * x0)"}},
    {"atan", 1, {}, "atan(x0)", {"dy / (1.0f + x0 * x0)"}},
    {"sinh", 1, {}, "sinh(x0)", {"dy * cosh(x0)"}},
    {"cosh", 1, {}, "cosh(x0)", {"dy * sinh(x0)"}},
    {"asinh", 1, {}, "asinh(x0)", {"dy / sqrt(x0 * x0 + 1.0f)"}},
    {"acosh", 1, {}, "acosh(x0)", {"dy / sqrt(x0 * x0 - 1.0f)"}},
    {"atanh", 1, {}, "atanh(x0)", {"dy / (1.0f - x0 * x0)"}},
    {"erf", 1, {}, "erf(x0)", {"dy * (1.1283792f * exp(-(x0 * x0)))"}},
    {"square", 1, {}, "x0 * x0", {"dy * (2.0f * x0)"}},
    {"identity", 1, {}, "x0", {"dy"}},
    {"scale", 1, {"alpha"}, "x0 * alpha", {"dy * alpha"}},
    {"offset", 1, {"beta"}, "x0 + beta", {"dy"}},

    // Activations with parameters of their own.
    {"selu",
     1,
     {"alpha", "gamma"},
     "gamma * (x0 > 0.0f ? x0 : alpha * (exp(x0) - 1.0f))",
     {"x0 <= 0.0f ? dy * (gamma * alpha * exp(x0)) : gamma * dy"}},
    {"celu",
     1,
     {"alpha"},
     "x0 > 0.0f ? x0 : alpha * (exp(x0 / alpha) - 1.0f)",
     {"x0 <= 0.0f ? dy * exp(x0 / alpha) : dy"}},
    {"mish",
     1,
     {},
     "x0 * tanh(max(x0, 0.0f) + log(1.0f + exp(-abs(x0))))",
     {"dy * (tanh(max(x0, 0.0f) + log(1.0f + exp(-abs(x0)))) + x0 * "
      "sigmoid(x0) * (1.0f - tanh(max(x0, 0.0f) + log(1.0f + exp(-abs(x0)))) * "
      "tanh(max(x0, 0.0f) + log(1.0f + exp(-abs(x0))))))"}},
    {"swish",
     1,
     {"alpha"},
     "x0 * sigmoid(alpha * x0)",
     {"dy * (sigmoid(alpha * x0) * (1.0f + alpha * x0 * (1.0f - "
      "sigmoid(alpha * x0))))"}},
    {"thresholded_relu",
     1,
     {"alpha"},
     "x0 <= alpha ? 0.0f : x0",
     {"x0 <= alpha ? 0.0f : dy"}},
    {"shrink",
     1,
     {"lambd", "bias"},
     "x0 < -lambd ? x0 + bias : x0 <= lambd ? 0.0f : x0 - bias",
     {"x0 >= -lambd && x0 <= lambd ? 0.0f : dy"}},
    {"softsign",
     1,
     {},
     "x0 / (1.0f + abs(x0))",
     {"dy / ((1.0f + abs(x0)) * (1.0f + abs(x0)))"}},
    // data, slope
    {"prelu",
     2,
     {},
     "x0 > 0.0f ? x0 : x1 * x0",
     {"x0 > 0.0f ? dy : x1 * dy", "x0 > 0.0f ? 0.0f : x0 * dy"}},

    // Steps, and what is true (1) or false (0): constant where they are not
    // undefined.
    {"detach", 1, {}, "x0", {"-"}},
    {"floor", 1, {}, "floor(x0)", {"-"}},
    {"ceil", 1, {}, "-floor(-x0)", {"-"}},
    {"round", 1, {}, "round(x0)", {"-"}},
    {"truncate", 1, {}, "x0 < 0.0f ? -floor(-x0) : floor(x0)", {"-"}},
    {"sign", 1, {}, "x0 > 0.0f ? 1.0f : x0 < 0.0f ? -1.0f : x0", {"-"}},
    {"less", 2, {}, "x0 < x1 ? 1.0f : 0.0f", {"-", "-"}},
    {"less_or_equal", 2, {}, "x0 <= x1 ? 1.0f : 0.0f", {"-", "-"}},
    {"greater", 2, {}, "x0 > x1 ? 1.0f : 0.0f", {"-", "-"}},
    {"greater_or_equal", 2, {}, "x0 >= x1 ? 1.0f : 0.0f", {"-", "-"}},
    {"equal", 2, {}, "x0 == x1 ? 1.0f : 0.0f", {"-", "-"}},
    {"and", 2, {}, "x0 != 0.0f && x1 != 0.0f ? 1.0f : 0.0f", {"-", "-"}},
    {"xor",
     2,
     {},
     "x0 != 0.0f && x1 == 0.0f || x0 == 0.0f && x1 != 0.0f ? 1.0f : 0.0f",
     {"-", "-"}},
    {"is_nan", 1, {}, "x0 != x0 ? 1.0f : 0.0f", {"-"}},
    {"is_infinite",
     1,
     {},
     "x0 == INFINITY || x0 == -INFINITY ? 1.0f : 0.0f",
     {"-"}},
    {"or", 2, {}, "x0 != 0.0f || x1 != 0.0f ? 1.0f : 0.0f", {"-", "-"}},
    {"not", 1, {}, "x0 == 0.0f ? 1.0f : 0.0f", {"-"}},
    // condition, where it holds, where not
    {"where",
     3,
     {},
     "x0 != 0.0f ? x1 : x2",
     {"-", "x0 != 0.0f ? dy : 0.0f", "x0 != 0.0f ? 0.0f : dy"}},

    // x, mean, invstd, scale, bias: with statistics that are not the batch's.
    {"batch_norm_apply",
     5,
     {},
     "(x0 - x1) * (x2 * x3) + x4",
     {"dy * (x2 * x3)", "-dy * (x2 * x3)", "dy * ((x0 - x1) * x3)",
      "dy * ((x0 - x1) * x2)", "dy"}},
    // x, mean, invstd * scale, bias: in evaluation, where one device makes the
    // product for all.
    {"batch_norm_evaluate", 4, {}, "(x0 - x1) * x2 + x3", {}},
    // Other parts of batch normalization, which train-decompose makes of
    // batch_norm_grad; they are not differentiated.
    // dy, x, mean, invstd, scale, dscale, dbias
    {"batch_norm_grad_input",
     7,
     {"inv_count"},
     "x4 * x3 * (x0 - (x6 + (x1 - x2) * x3 * x5) * inv_count)",
     {}},
    // old, batch
    {"running_average", 2, {"keep", "take"}, "x0 * keep + x1 * take", {}},
    {"rsqrt_eps",
     1,
     {"epsilon"},
     "1.0f / sqrt(x0 + epsilon)",
     {"-0.5f * dy * (y * y * y)"}},
};

/// The entries in front of the first empty one.
template <size_t n>
llvm::ArrayRef<StringRef> filled(const StringRef (&entries)[n]) {
  llvm::ArrayRef<StringRef> all(entries);
  return all.take_while([](StringRef entry) { return !entry.empty(); });
}

std::vector<ElementwiseFunction> makeTable() {
  std::vector<ElementwiseFunction> table;
  for (const Row &row : rows)
    table.push_back({row.name, row.inputs, filled(row.params), row.value,
                     filled(row.gradients)});
  return table;
}

} // namespace

llvm::ArrayRef<ElementwiseFunction> lwcc::elementwiseFunctions() {
  static const std::vector<ElementwiseFunction> table = makeTable();
  return table;
}

const ElementwiseFunction *lwcc::findElementwise(StringRef name) {
  llvm::ArrayRef<ElementwiseFunction> table = elementwiseFunctions();
  auto row = llvm::find_if(table, [&](auto &r) { return r.name == name; });
  return row == table.end() ? nullptr : &*row;
}

Expression lwcc::instantiate(const ElementwiseFunction &row, StringRef text,
                             llvm::function_ref<double(StringRef)> param) {
  auto resolve = [&](StringRef name) -> std::optional<Expression> {
    if (name == "dy")
      return Expression::inputOf(row.inputs);
    if (name == "y")
      return Expression::inputOf(row.inputs + 1);
    if (llvm::is_contained(row.params, name))
      return Expression::literalOf(param(name));
    return std::nullopt;
  };
  return llvm::cantFail(Expression::parse(text, resolve));
}

//===- Interpreter.cpp - Elementwise kernels without a compiler -----------===//
//
// A tree walk over chunks of elements: each node fills a row of scratch on the
// stack. Conditions are 0 or 1.
//
//===----------------------------------------------------------------------===//

#include "tools/lwcc-run/Interpreter.h"
#include "runtime/core/Math.h"
#include "runtime/core/Philox.h"
#include "runtime/cpu/Map.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <memory>

using namespace lwcc;
using llvm::StringRef;

static constexpr int chunk = 128;

namespace {
/// One chunk of a block.
struct Slice {
  const rt::MapBlock &block;
  const std::vector<rt::DType> &types; ///< of the inputs
  int64_t begin;
  int count;
};
using Row = float[chunk];
} // namespace

/// Calls `use` with an element of this type.
template <typename Use>
static void withType(rt::DType type, Use use) {
  switch (type) {
  case rt::DType::f32:
    return use(float());
  case rt::DType::i32:
    return use(int32_t());
  case rt::DType::u8:
    return use(uint8_t());
  }
}

template <typename F>
static void zip(int n, float *y, const float *a, const float *b, F f) {
  for (int j = 0; j < n; ++j)
    y[j] = f(a[j], b[j]);
}

static void binary(StringRef op, int n, float *y, const float *a,
                   const float *b) {
  auto apply = [&](auto f) { zip(n, y, a, b, f); };
  if (op == "+")
    return apply([](float p, float q) { return p + q; });
  if (op == "-")
    return apply([](float p, float q) { return p - q; });
  if (op == "*")
    return apply([](float p, float q) { return p * q; });
  if (op == "/")
    return apply([](float p, float q) { return p / q; });
  if (op == "<")
    return apply([](float p, float q) { return float(p < q); });
  if (op == "<=")
    return apply([](float p, float q) { return float(p <= q); });
  if (op == ">")
    return apply([](float p, float q) { return float(p > q); });
  if (op == ">=")
    return apply([](float p, float q) { return float(p >= q); });
  if (op == "==")
    return apply([](float p, float q) { return float(p == q); });
  if (op == "!=")
    return apply([](float p, float q) { return float(p != q); });
  if (op == "&&")
    return apply([](float p, float q) { return float(p != 0 && q != 0); });
  assert(op == "||" && "operator that the parser does not make");
  apply([](float p, float q) { return float(p != 0 || q != 0); });
}

static void callOf(StringRef function, int n, float *y, const float *a,
                   const float *b) {
  auto two = [&](float (*f)(float, float)) { zip(n, y, a, b, f); };
  using Unary = float (*)(float);
  static const llvm::StringMap<Unary> unary = {
      {"abs", rt::abs},     {"exp", rt::exp},     {"log", rt::log},
      {"sqrt", rt::sqrt},   {"tanh", rt::tanh},   {"erf", rt::erf},
      {"floor", rt::floor}, {"round", rt::round}, {"sigmoid", rt::sigmoid},
      {"sin", rt::sin},     {"cos", rt::cos},     {"tan", rt::tan},
      {"asin", rt::asin},   {"acos", rt::acos},   {"atan", rt::atan},
      {"sinh", rt::sinh},   {"cosh", rt::cosh},   {"asinh", rt::asinh},
      {"acosh", rt::acosh}, {"atanh", rt::atanh},
  };
  if (auto known = unary.find(function); known != unary.end()) {
    for (int j = 0; j < n; ++j)
      y[j] = known->second(a[j]);
    return;
  }
  if (function == "pow")
    return two(rt::pow);
  if (function == "fmod")
    return two(rt::fmod);
  if (function == "min")
    return two(rt::min);
  assert(function == "max" && "function that the parser does not know");
  two(rt::max);
}

static void evaluate(const Expression &e, const Slice &slice, float *y) {
  const rt::MapBlock &block = slice.block;
  const int n = slice.count;
  switch (e.kind) {
  case Expression::Kind::literal:
    std::fill_n(y, n, static_cast<float>(e.value));
    return;
  case Expression::Kind::input: {
    const int64_t stride = block.xStride[e.input];
    return withType(slice.types[e.input], [&]<typename T>(T) {
      auto *x = static_cast<const T *>(block.x[e.input]);
      for (int j = 0; j < n; ++j)
        y[j] = static_cast<float>(x[(slice.begin + j) * stride]);
    });
  }
  case Expression::Kind::unary: {
    evaluate(e.args[0], slice, y);
    for (int j = 0; j < n; ++j)
      y[j] = -y[j];
    return;
  }
  case Expression::Kind::binary: {
    Row a, b;
    evaluate(e.args[0], slice, a);
    evaluate(e.args[1], slice, b);
    return binary(e.op, n, y, a, b);
  }
  case Expression::Kind::select: {
    Row condition, a, b;
    evaluate(e.args[0], slice, condition);
    evaluate(e.args[1], slice, a);
    evaluate(e.args[2], slice, b);
    for (int j = 0; j < n; ++j)
      y[j] = condition[j] != 0 ? a[j] : b[j];
    return;
  }
  case Expression::Kind::call: {
    if (e.isRandomCall()) {
      const uint32_t stream = e.args.back().stream;
      for (int j = 0; j < n; ++j) {
        const uint64_t i = block.index + (slice.begin + j) * block.indexStride;
        y[j] =
            e.op == "random_uniform"
                ? rt::random_uniform(*block.scalars, i, stream)
            : e.op == "random_normal"
                ? rt::random_normal(*block.scalars, i, stream)
                : rt::dropout_mask(*block.scalars, i,
                                   static_cast<float>(e.args[0].value), stream);
      }
      return;
    }
    Row a, b;
    evaluate(e.args[0], slice, a);
    if (e.args.size() > 1)
      evaluate(e.args[1], slice, b);
    return callOf(e.op, n, y, a, b);
  }
  case Expression::Kind::stream:
    break;
  }
  assert(false && "a stream stands only behind what draws random numbers");
}

void lwcc::appendMap(rt::Lane &lane, const Expression &expression, rt::Tensor y,
                     const rt::Tensors &xs, rt::Tensor scalars,
                     const rt::MapParams &params) {
  // The recorded step outlives this call; so must its expression.
  auto shared = std::make_shared<Expression>(expression);
  auto types = std::make_shared<std::vector<rt::DType>>();
  for (const rt::Tensor &x : xs)
    types->push_back(x.type);
  rt::mapBlocks(lane, "map", y, xs, scalars, params,
                [shared, types, type = y.type](const rt::MapBlock &b) {
                  Row row;
                  for (int64_t begin = 0; begin < b.n; begin += chunk) {
                    const int count =
                        static_cast<int>(std::min<int64_t>(chunk, b.n - begin));
                    evaluate(*shared, {b, *types, begin, count}, row);
                    withType(type, [&]<typename T>(T) {
                      T *to = static_cast<T *>(b.y) + begin * b.yStride;
                      for (int j = 0; j < count; ++j)
                        to[j * b.yStride] = rt::storedAs<T>(row[j]);
                    });
                  }
                });
}

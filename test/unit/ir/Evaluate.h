//===- Evaluate.h - Expressions in double precision -------------*- C++ -*-===//
//
// A reference evaluator of expressions, for the tests of Expression and of the
// elementwise table. It is independent of the two that run (the emitted C++ and
// tools/lwcc-run) and computes in double precision, so that finite differences
// have eight digits. Does not evaluate dropout masks.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_IR_EVALUATE_H
#define LWCC_TEST_UNIT_IR_EVALUATE_H

#include "ir/train/Expression.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <functional>

namespace lwcc {

/// The operand that comes first in `order`; a NaN if either is one.
template <typename Order>
double first(double a, double b, Order order) {
  return std::isnan(a) || order(a, b) ? a : b;
}

inline double evaluate(const Expression &e, llvm::ArrayRef<double> x) {
  auto arg = [&](unsigned i) { return evaluate(e.args[i], x); };
  switch (e.kind) {
  case Expression::Kind::literal:
    return e.value;
  case Expression::Kind::input:
    return x[e.input];
  case Expression::Kind::unary:
    return -arg(0);
  case Expression::Kind::select:
    return arg(0) != 0 ? arg(1) : arg(2);
  case Expression::Kind::binary: {
    double a = arg(0), b = arg(1);
    return e.op == "+"    ? a + b
           : e.op == "-"  ? a - b
           : e.op == "*"  ? a * b
           : e.op == "/"  ? a / b
           : e.op == "<"  ? a < b
           : e.op == "<=" ? a <= b
           : e.op == ">"  ? a > b
           : e.op == ">=" ? a >= b
           : e.op == "==" ? a == b
           : e.op == "!=" ? a != b
           : e.op == "&&" ? a != 0 && b != 0
                          : a != 0 || b != 0;
  }
  case Expression::Kind::call:
    return e.op == "abs"       ? std::abs(arg(0))
           : e.op == "exp"     ? std::exp(arg(0))
           : e.op == "log"     ? std::log(arg(0))
           : e.op == "sqrt"    ? std::sqrt(arg(0))
           : e.op == "tanh"    ? std::tanh(arg(0))
           : e.op == "erf"     ? std::erf(arg(0))
           : e.op == "floor"   ? std::floor(arg(0))
           : e.op == "sin"     ? std::sin(arg(0))
           : e.op == "cos"     ? std::cos(arg(0))
           : e.op == "tan"     ? std::tan(arg(0))
           : e.op == "asin"    ? std::asin(arg(0))
           : e.op == "acos"    ? std::acos(arg(0))
           : e.op == "atan"    ? std::atan(arg(0))
           : e.op == "sinh"    ? std::sinh(arg(0))
           : e.op == "cosh"    ? std::cosh(arg(0))
           : e.op == "asinh"   ? std::asinh(arg(0))
           : e.op == "acosh"   ? std::acosh(arg(0))
           : e.op == "atanh"   ? std::atanh(arg(0))
           : e.op == "round"   ? std::nearbyint(arg(0))
           : e.op == "sigmoid" ? 1 / (1 + std::exp(-arg(0)))
           : e.op == "pow"     ? std::pow(arg(0), arg(1))
           : e.op == "fmod"    ? std::fmod(arg(0), arg(1))
           : e.op == "min"     ? first(arg(0), arg(1), std::less<>())
           : e.op == "max"     ? first(arg(0), arg(1), std::greater<>())
                               : NAN;
  case Expression::Kind::stream:
    break;
  }
  llvm_unreachable("a stream has no value");
}

} // namespace lwcc

#endif // LWCC_TEST_UNIT_IR_EVALUATE_H

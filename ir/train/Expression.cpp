//===- Expression.cpp - The language of elementwise kernels ---------------===//
//
// What is asked of an expression, and the printer, which is the inverse of the
// parser (ExpressionParser.cpp). Nothing is simplified: what is printed
// computes exactly what was written, in that order.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Expression.h"
#include "ir/train/ExpressionSyntax.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cmath>

using namespace lwcc;
using namespace lwcc::syntax;

namespace {

constexpr int selectPrecedence = 0;
constexpr int unaryPrecedence = 7;
constexpr int primaryPrecedence = 8;

int precedenceOf(const Expression &e) {
  switch (e.kind) {
  case Expression::Kind::select:
    return selectPrecedence;
  case Expression::Kind::binary:
    return syntax::precedenceOf(e.op);
  case Expression::Kind::unary:
    return unaryPrecedence;
  case Expression::Kind::literal:
    return std::signbit(e.value) ? unaryPrecedence : primaryPrecedence;
  default:
    return primaryPrecedence;
  }
}

void printTo(const Expression &e, std::string &out);

/// Prints in parentheses if `e` binds weaker than `weakest`.
void printTo(const Expression &e, int weakest, std::string &out) {
  bool parentheses = precedenceOf(e) < weakest;
  if (parentheses)
    out += '(';
  printTo(e, out);
  if (parentheses)
    out += ')';
}

void printTo(const Expression &e, std::string &out) {
  switch (e.kind) {
  case Expression::Kind::literal:
    out += floatLiteral(static_cast<float>(e.value));
    return;
  case Expression::Kind::stream:
    out += std::to_string(e.stream) + "u";
    return;
  case Expression::Kind::input:
    out += "x" + std::to_string(e.input);
    return;
  case Expression::Kind::unary:
    // Parentheses around a literal keep it apart from a negative literal, and
    // around a minus from C++'s decrement.
    out += '-';
    printTo(e.args[0],
            e.args[0].kind == Expression::Kind::literal ? primaryPrecedence + 1
                                                        : primaryPrecedence,
            out);
    return;
  case Expression::Kind::binary: {
    int precedence = precedenceOf(e);
    printTo(e.args[0], precedence, out);
    out += " " + e.op + " ";
    printTo(e.args[1], precedence + 1, out);
    return;
  }
  case Expression::Kind::select:
    printTo(e.args[0], selectPrecedence + 1, out);
    out += " ? ";
    printTo(e.args[1], selectPrecedence, out);
    out += " : ";
    printTo(e.args[2], selectPrecedence, out);
    return;
  case Expression::Kind::call:
    out += e.op + "(";
    for (const Expression &arg : e.args) {
      if (&arg != &e.args.front())
        out += ", ";
      printTo(arg, out);
    }
    out += ')';
    return;
  }
}

} // namespace

Expression Expression::literalOf(double value) {
  Expression result{Kind::literal};
  result.value = static_cast<float>(value);
  return result;
}

Expression Expression::inputOf(unsigned input) {
  Expression result{Kind::input};
  result.input = input;
  return result;
}

bool Expression::operator==(const Expression &other) const {
  auto sameValue = [](double a, double b) {
    return std::isnan(a) ? std::isnan(b)
                         : a == b && std::signbit(a) == std::signbit(b);
  };
  return kind == other.kind && sameValue(value, other.value) &&
         stream == other.stream && input == other.input && op == other.op &&
         args == other.args;
}

std::string Expression::print() const {
  std::string out;
  printTo(*this, out);
  return out;
}

unsigned Expression::inputs() const {
  unsigned result = kind == Kind::input ? input + 1 : 0;
  for (const Expression &arg : args)
    result = std::max(result, arg.inputs());
  return result;
}

bool Expression::uses(unsigned n) const {
  return (kind == Kind::input && input == n) ||
         llvm::any_of(args, [&](auto &arg) { return arg.uses(n); });
}

llvm::ArrayRef<llvm::StringLiteral> Expression::randomFunctions() {
  return syntax::randomFunctions;
}

bool Expression::isRandomCall() const {
  return kind == Kind::call && isRandom(op);
}

bool Expression::drawsRandomNumbers() const {
  return isRandomCall() ||
         llvm::any_of(args, [](auto &arg) { return arg.drawsRandomNumbers(); });
}

bool Expression::usesDropout() const {
  return (kind == Kind::call && op == dropoutMask) ||
         llvm::any_of(args, [](auto &arg) { return arg.usesDropout(); });
}

unsigned Expression::operations() const {
  unsigned result = args.empty() ? 0 : 1;
  for (const Expression &arg : args)
    result += arg.operations();
  return result;
}

Expression
Expression::substitute(llvm::ArrayRef<Expression> replacement) const {
  if (kind == Kind::input) {
    assert(input < replacement.size() && "every input needs a replacement");
    return replacement[input];
  }
  Expression result = *this;
  for (Expression &arg : result.args)
    arg = arg.substitute(replacement);
  return result;
}

std::string lwcc::floatLiteral(float value) {
  if (std::isnan(value))
    return "NAN";
  if (std::isinf(value))
    return value < 0 ? "-INFINITY" : "INFINITY";
  char buffer[32];
  auto [end, error] =
      std::to_chars(std::begin(buffer), std::end(buffer), value);
  assert(error == std::errc() && "a float has at most 16 characters");
  std::string text(buffer, end);
  // "1e-05" and "1e+20" are "1e-5" and "1e20".
  size_t exponent = text.find('e');
  if (exponent == std::string::npos)
    return text + (text.find('.') == std::string::npos ? ".0f" : "f");
  size_t digits = exponent + 1;
  if (text[digits] == '+')
    text.erase(digits, 1);
  else
    ++digits;
  while (text[digits] == '0')
    text.erase(digits, 1);
  return text + "f";
}

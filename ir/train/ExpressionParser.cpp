//===- ExpressionParser.cpp - Reading elementwise kernels -----------------===//
//
// A recursive-descent parser that also keeps conditions and floats apart. It
// stops at the first mistake. Nothing is simplified, and what a name outside of
// the language means is the caller's affair.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Expression.h"
#include "ir/train/ExpressionSyntax.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <charconv>
#include <cmath>

using namespace lwcc;
using namespace lwcc::syntax;
using llvm::StringRef;

namespace {

struct Function {
  StringRef name;
  unsigned arguments;
};
constexpr Function functions[] = {
    {"abs", 1},       {"exp", 1},         {"log", 1},       {"sqrt", 1},
    {"tanh", 1},      {"erf", 1},         {"pow", 2},       {"fmod", 2},
    {"min", 2},       {"max", 2},         {"floor", 1},     {"round", 1},
    {"sigmoid", 1},   {"sin", 1},         {"cos", 1},       {"tan", 1},
    {"asin", 1},      {"acos", 1},        {"atan", 1},      {"sinh", 1},
    {"cosh", 1},      {"asinh", 1},       {"acosh", 1},     {"atanh", 1},
    {dropoutMask, 2}, {randomUniform, 1}, {randomNormal, 1}};

bool isLogical(StringRef op) { return op == "&&" || op == "||"; }

bool isCondition(const Expression &e) {
  return e.kind == Expression::Kind::binary && syntax::precedenceOf(e.op) <= 4;
}

class Parser {
public:
  Parser(StringRef text, Expression::Resolver resolve)
      : text(text), resolve(resolve) {}

  llvm::Expected<Expression> run() {
    Expression result;
    if (!parseSelect(result) || !requireFloat(result))
      return takeError();
    if (!peek().empty()) {
      fail("an operator or the end");
      return takeError();
    }
    return result;
  }

private:
  StringRef text;
  Expression::Resolver resolve;
  size_t position = 0;
  std::string message;

  /// The next token, without taking it; empty at the end.
  StringRef peek() {
    while (position < text.size() && llvm::isSpace(text[position]))
      ++position;
    StringRef rest = text.substr(position);
    if (rest.empty())
      return rest;
    char first = rest.front();
    if (llvm::isDigit(first)) {
      size_t end = 1;
      auto inNumber = [&](char c) {
        char before = rest[end - 1];
        return llvm::isAlnum(c) || c == '.' ||
               ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
      };
      while (end < rest.size() && inNumber(rest[end]))
        ++end;
      return rest.take_front(end);
    }
    if (llvm::isAlpha(first) || first == '_')
      return rest.take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_'; });
    for (StringRef two : {"<=", ">=", "==", "!=", "&&", "||"})
      if (rest.starts_with(two))
        return rest.take_front(2);
    return rest.take_front(1);
  }

  StringRef take() {
    StringRef token = peek();
    position += token.size();
    return token;
  }

  bool accept(StringRef token) {
    if (peek() != token)
      return false;
    take();
    return true;
  }

  /// Records the first error; always returns false.
  bool fail(const llvm::Twine &expected) {
    StringRef found = peek();
    return failWith("expected " + expected + ", found " +
                    (found.empty() ? llvm::Twine("the end")
                                   : "'" + llvm::Twine(found) + "'"));
  }
  bool failWith(const llvm::Twine &what) {
    if (message.empty())
      message = ("position " + llvm::Twine(position) + ": " + what).str();
    return false;
  }
  llvm::Error takeError() {
    return llvm::createStringError(message + " in \"" + text.str() + "\"");
  }

  bool requireFloat(const Expression &e) {
    if (e.kind == Expression::Kind::stream)
      return failWith("a stream stands only behind what draws random numbers");
    return !isCondition(e) ||
           failWith("a comparison stands only before '?', '&&' or '||'");
  }
  bool requireCondition(const Expression &e) {
    return isCondition(e) || failWith("expected a comparison");
  }

  bool parseSelect(Expression &result) {
    if (!parseBinary(result, 1))
      return false;
    if (!accept("?"))
      return true;
    Expression select{Expression::Kind::select};
    select.args.resize(3);
    select.args[0] = std::move(result);
    if (!requireCondition(select.args[0]) || !parseSelect(select.args[1]) ||
        !requireFloat(select.args[1]))
      return false;
    if (!accept(":"))
      return fail("':'");
    if (!parseSelect(select.args[2]) || !requireFloat(select.args[2]))
      return false;
    result = std::move(select);
    return true;
  }

  bool parseBinary(Expression &result, int weakest) {
    if (!parseUnary(result))
      return false;
    while (true) {
      StringRef op = peek();
      int precedence = syntax::precedenceOf(op);
      if (precedence < weakest || precedence == 0)
        return true;
      take();
      Expression binary{Expression::Kind::binary};
      binary.op = op.str();
      binary.args.resize(2);
      binary.args[0] = std::move(result);
      if (!parseBinary(binary.args[1], precedence + 1))
        return false;
      for (const Expression &arg : binary.args)
        if (isLogical(op) ? !requireCondition(arg) : !requireFloat(arg))
          return false;
      result = std::move(binary);
    }
  }

  bool parseUnary(Expression &result) {
    if (!accept("-"))
      return parsePrimary(result);
    // "-1.0f" is one literal, so that negative literals survive printing.
    StringRef next = peek();
    bool negativeLiteral = (!next.empty() && llvm::isDigit(next.front())) ||
                           next == "INFINITY" || next == "NAN";
    Expression operand;
    if (!parseUnary(operand) || !requireFloat(operand))
      return false;
    if (negativeLiteral) {
      result = Expression::literalOf(-operand.value);
      return true;
    }
    result = Expression{Expression::Kind::unary};
    result.op = "-";
    result.args.push_back(std::move(operand));
    return true;
  }

  bool parsePrimary(Expression &result) {
    if (accept("("))
      return parseSelect(result) && (accept(")") || fail("')'"));
    StringRef token = peek();
    if (token.empty())
      return fail("an operand");
    if (llvm::isDigit(token.front()))
      return parseNumber(result);
    if (llvm::isAlpha(token.front()) || token.front() == '_')
      return parseName(result);
    return fail("an operand");
  }

  bool parseNumber(Expression &result) {
    StringRef token = peek();
    if (token.ends_with("u")) {
      result = Expression{Expression::Kind::stream};
      if (token.drop_back().getAsInteger(10, result.stream))
        return fail("a stream of 32 bits");
      take();
      return true;
    }
    if (!token.ends_with("f"))
      return fail("a float literal with suffix f");
    StringRef digits = token.drop_back();
    float value = 0;
    auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end())
      return fail("a float literal");
    take();
    result = Expression::literalOf(value);
    return true;
  }

  bool parseName(Expression &result) {
    StringRef name = peek();
    if (name == "INFINITY" || name == "NAN") {
      take();
      result = Expression::literalOf(name == "NAN" ? NAN : INFINITY);
      return true;
    }
    const Function *function =
        llvm::find_if(functions, [&](auto &f) { return f.name == name; });
    if (function != std::end(functions)) {
      take();
      return parseCall(result, *function);
    }
    unsigned input = 0;
    if (name.starts_with("x") && !name.drop_front().getAsInteger(10, input)) {
      take();
      result = Expression::inputOf(input);
      return true;
    }
    if (resolve)
      if (std::optional<Expression> meaning = resolve(name)) {
        take();
        result = std::move(*meaning);
        return true;
      }
    return fail("an input, a literal or a function");
  }

  bool parseCall(Expression &result, const Function &function) {
    result = Expression{Expression::Kind::call};
    result.op = function.name.str();
    if (!accept("("))
      return fail("'('");
    for (unsigned i = 0; i < function.arguments; ++i) {
      if (i && !accept(","))
        return fail("','");
      Expression argument;
      if (!parseSelect(argument))
        return false;
      bool isStream = isRandom(function.name) && i + 1 == function.arguments;
      if (isStream && argument.kind != Expression::Kind::stream)
        return failWith("expected a stream as last argument of " +
                        function.name);
      if (!isStream && !requireFloat(argument))
        return false;
      result.args.push_back(std::move(argument));
    }
    return accept(")") || fail("')'");
  }
};

} // namespace

llvm::Expected<Expression> Expression::parse(StringRef text, Resolver resolve) {
  return Parser(text, resolve).run();
}

std::vector<StringRef> Expression::functionNames() {
  std::vector<StringRef> names;
  for (const Function &function : functions)
    names.push_back(function.name);
  return names;
}

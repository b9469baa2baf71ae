//===- ExpressionTest.cpp - The language of elementwise kernels -----------===//

#include "ir/train/Expression.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace lwcc;
using Kind = Expression::Kind;

namespace {

Expression parsed(llvm::StringRef text) {
  return llvm::cantFail(Expression::parse(text));
}

std::string errorOf(llvm::StringRef text) {
  llvm::Expected<Expression> e = Expression::parse(text);
  return e ? "parsed" : llvm::toString(e.takeError());
}

TEST(Expression, PrintsWithoutNeedlessParentheses) {
  for (llvm::StringRef text :
       {"x0 + x1 * x2", "(x0 + x1) * x2", "x0 - (x1 - x2)", "x0 - x1 - x2",
        "x0 / (x1 * x2)", "-x0 * x1", "-(x0 * x1)", "-(-x0)", "x0 - -1.0f",
        "-(1.0f)", "x0 < 0.0f ? 1.0f : x1 > 2.0f ? 3.0f : x2",
        "(x0 < 0.0f ? 1.0f : 2.0f) + x1",
        "x0 < 1.0f && (x1 < 1.0f || x2 < 1.0f) ? x0 : 0.0f",
        "pow(x0 + x1, -2.0f)", "x0 * dropout_mask(0.5f, 4294967295u)",
        "x0 + random_normal(7u) * random_uniform(8u)", "min(x0, INFINITY)",
        "max(x12, -INFINITY)"})
    EXPECT_EQ(parsed(text).print(), text);
  EXPECT_EQ(parsed("((x0))*((x1)+(x2))").print(), "x0 * (x1 + x2)");
}

TEST(Expression, KeepsTheOrderOfEvaluation) {
  EXPECT_EQ(parsed("x0 + (x1 + x2)").print(), "x0 + (x1 + x2)");
  EXPECT_FALSE(parsed("x0 + (x1 + x2)") == parsed("x0 + x1 + x2"));
}

TEST(Expression, ErrorsNameThePlaceAndWhatWasExpected) {
  EXPECT_EQ(errorOf(""), "position 0: expected an operand, found the end in "
                         "\"\"");
  EXPECT_EQ(errorOf("x0 + * x1"),
            "position 5: expected an operand, found '*' in \"x0 + * x1\"");
  EXPECT_EQ(errorOf("(x0"), "position 3: expected ')', found the end in "
                            "\"(x0\"");
  EXPECT_EQ(errorOf("x0 x1"), "position 3: expected an operator or the end, "
                              "found 'x1' in \"x0 x1\"");
  EXPECT_EQ(errorOf("1.0"), "position 0: expected a float literal with suffix "
                            "f, found '1.0' in \"1.0\"");
  EXPECT_EQ(errorOf("gamma(x0)"),
            "position 0: expected an input, a literal or a function, found "
            "'gamma' in \"gamma(x0)\"");
  EXPECT_EQ(errorOf("pow(x0)"),
            "position 6: expected ',', found ')' in \"pow(x0)\"");
  EXPECT_EQ(errorOf("x0 < x1"), "position 7: a comparison stands only before "
                                "'?', '&&' or '||' in \"x0 < x1\"");
  EXPECT_EQ(errorOf("x0 ? x1 : x2"),
            "position 4: expected a comparison in \"x0 ? x1 : x2\"");
  EXPECT_EQ(errorOf("5u + x0"), "position 7: a stream stands only behind what "
                                "draws random numbers in \"5u + x0\"");
  EXPECT_EQ(errorOf("dropout_mask(0.5f, x0)"),
            "position 21: expected a stream as last argument of "
            "dropout_mask in \"dropout_mask(0.5f, x0)\"");
  EXPECT_EQ(errorOf("1e99f"), "position 0: expected a float literal, found "
                              "'1e99f' in \"1e99f\"");
}

TEST(Expression, ResolvesNamesOfTheCaller) {
  auto resolve = [](llvm::StringRef name) -> std::optional<Expression> {
    if (name == "alpha")
      return Expression::literalOf(-0.5);
    return std::nullopt;
  };
  EXPECT_EQ(llvm::cantFail(Expression::parse("x0 - alpha", resolve)).print(),
            "x0 - -0.5f");
}

TEST(Expression, Questions) {
  Expression e = parsed("x3 > 0.0f ? max(x3, x1) : -x3 * 2.0f");
  EXPECT_EQ(e.inputs(), 4u);
  EXPECT_TRUE(e.uses(1));
  EXPECT_FALSE(e.uses(2));
  EXPECT_EQ(e.operations(), 5u); // ?: > max - *
  EXPECT_FALSE(e.usesDropout());
  EXPECT_FALSE(e.drawsRandomNumbers());
  Expression dropout = parsed("x0 * dropout_mask(0.5f, 1u)");
  EXPECT_TRUE(dropout.usesDropout() && dropout.drawsRandomNumbers());
  Expression noise = parsed("x0 + random_normal(1u)");
  EXPECT_TRUE(!noise.usesDropout() && noise.drawsRandomNumbers());
  EXPECT_EQ(parsed("1.0f").inputs(), 0u);
}

TEST(Expression, SubstitutesWithParenthesesWhereNeeded) {
  Expression e = parsed("x0 * x1 - x0");
  EXPECT_EQ(e.substitute({parsed("x2 + x3"), parsed("-1.0f")}).print(),
            "(x2 + x3) * -1.0f - (x2 + x3)");
}

TEST(Expression, FloatLiterals) {
  EXPECT_EQ(floatLiteral(0.0f), "0.0f");
  EXPECT_EQ(floatLiteral(-0.0f), "-0.0f");
  EXPECT_EQ(floatLiteral(1.0f), "1.0f");
  EXPECT_EQ(floatLiteral(0.1f), "0.1f");
  EXPECT_EQ(floatLiteral(1e-5f), "1e-5f");
  EXPECT_EQ(floatLiteral(1e20f), "1e20f");
  EXPECT_EQ(floatLiteral(-3.4028235e38f), "-3.4028235e38f");
  EXPECT_EQ(floatLiteral(INFINITY), "INFINITY");
  EXPECT_EQ(floatLiteral(-INFINITY), "-INFINITY");
  EXPECT_EQ(floatLiteral(NAN), "NAN");
}

TEST(Expression, FloatLiteralsReadBackAsTheSameFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    uint32_t bits = random();
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isnan(value))
      continue;
    Expression e = parsed(floatLiteral(value));
    ASSERT_EQ(e.kind, Kind::literal);
    ASSERT_EQ(static_cast<float>(e.value), value);
    ASSERT_EQ(std::signbit(e.value), std::signbit(value));
  }
}

/// Random well-formed expressions.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Expression number(int depth) {
    switch (depth > 0 ? below(7) : below(2)) {
    case 0:
      return Expression::inputOf(below(4));
    case 1:
      return Expression::literalOf(
          std::uniform_real_distribution<float>(-2, 2)(random));
    case 2:
      return node(Kind::unary, "-", {number(depth - 1)});
    case 3:
    case 4:
      return node(Kind::binary, pick({"+", "-", "*", "/"}),
                  {number(depth - 1), number(depth - 1)});
    case 5:
      return node(Kind::select, "",
                  {condition(depth - 1), number(depth - 1), number(depth - 1)});
    default:
      return below(2) ? node(Kind::call, pick({"exp", "abs", "sigmoid"}),
                             {number(depth - 1)})
                      : node(Kind::call, pick({"min", "max", "pow"}),
                             {number(depth - 1), number(depth - 1)});
    }
  }

private:
  std::mt19937 random;

  unsigned below(unsigned n) { return random() % n; }
  std::string pick(std::initializer_list<const char *> list) {
    return list.begin()[below(list.size())];
  }
  Expression node(Kind kind, std::string op, std::vector<Expression> args) {
    Expression e{kind};
    e.op = std::move(op);
    e.args = std::move(args);
    return e;
  }
  Expression condition(int depth) {
    if (depth > 0 && below(3) == 0)
      return node(Kind::binary, pick({"&&", "||"}),
                  {condition(depth - 1), condition(depth - 1)});
    return node(Kind::binary, pick({"<", "<=", ">", ">=", "==", "!="}),
                {number(depth - 1), number(depth - 1)});
  }
};

TEST(Expression, WhatIsPrintedParsesBackAsEqual) {
  Generator generator(7);
  for (int i = 0; i < 3000; ++i) {
    Expression e = generator.number(5);
    std::string text = e.print();
    llvm::Expected<Expression> again = Expression::parse(text);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    ASSERT_TRUE(*again == e) << text;
  }
}

} // namespace

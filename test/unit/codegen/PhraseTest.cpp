//===- PhraseTest.cpp - Numbers as expressions of a device's number -------===//
//
// Which form of expression is chosen, and that a phrase puts each in its place.
//
//===----------------------------------------------------------------------===//
#include "codegen/Phrase.h"

#include <gtest/gtest.h>

using namespace lwcc;

namespace {

using Numbers = std::vector<int64_t>;

std::string overI(const Numbers &at, const Numbers &values) {
  NumberTables tables;
  std::string text = expressionFor("i", at, values, tables);
  for (const auto &[name, numbers] : tables.all()) {
    text += " " + name + ":";
    for (int64_t number : numbers)
      text += " " + std::to_string(number);
  }
  return text;
}

TEST(Phrase, TakesTheSimplestExpression) {
  EXPECT_EQ(overI({0, 1, 2}, {7, 7, 7}), "7");
  EXPECT_EQ(overI({3}, {-5}), "-5");
  EXPECT_EQ(overI({0, 1, 2}, {0, 1, 2}), "i");
  EXPECT_EQ(overI({0, 1, 2}, {3, 4, 5}), "i + 3");
  EXPECT_EQ(overI({1, 2, 3}, {0, 16, 32}), "16 * i - 16");
  EXPECT_EQ(overI({0, 1, 2}, {4, 2, 0}), "-2 * i + 4");
  EXPECT_EQ(overI({0, 2, 4}, {0, 1, 2}), "table1[i] table1: 0 0 1 0 2");
}

TEST(Phrase, JoinsTwoLines) {
  EXPECT_EQ(overI({0, 1, 2, 3}, {16, 16, 15, 15}), "(i < 2 ? 16 : 15)");
  EXPECT_EQ(overI({0, 1, 2, 3}, {9, 5, 5, 5}), "(i < 1 ? 9 : 5)");
  EXPECT_EQ(overI({0, 1, 2, 3, 4, 5}, {0, 16, 32, 48, 64, 64}),
            "(i < 4 ? 16 * i : 64)");
  // Any two points lie on a line: that says nothing.
  EXPECT_EQ(overI({0, 1, 2, 3}, {0, 5, 1, 9}), "table1[i] table1: 0 5 1 9");
}

TEST(Phrase, SharesTables) {
  NumberTables tables;
  Numbers at = {0, 1, 2, 3}, values = {0, 5, 1, 9};
  EXPECT_EQ(expressionFor("i", at, values, tables), "table1[i]");
  EXPECT_EQ(expressionFor("k", at, values, tables), "table1[k]");
  EXPECT_EQ(tables.all().size(), 1u);
}

TEST(Phrase, FindsWhichVariableMatters) {
  Numbers i = {0, 0, 1, 1}, k = {0, 1, 0, 1};
  NumberTables tables;
  EXPECT_EQ(expressionFor(i, k, {0, 8, 0, 8}, 2, tables), "8 * k");
  EXPECT_EQ(expressionFor(i, k, {3, 3, 4, 4}, 2, tables), "i + 3");
  EXPECT_EQ(expressionFor(i, k, {1, 3, 11, 13}, 2, tables),
            "10 * i + 2 * k + 1");
  EXPECT_EQ(expressionFor(i, k, {1, 3, 11, 12}, 2, tables),
            "table1[2 * i + k]");
  EXPECT_EQ(tables.all()[0].second, (Numbers{1, 3, 11, 12}));
}

TEST(Phrase, KeepsTextAndNumbersApart) {
  Phrase phrase("rows(");
  phrase << "gpu[" << int64_t(3) << "].w, " << int64_t(8) << ")";
  Phrase other("rows(");
  other << "gpu[" << int64_t(4) << "].w, " << int64_t(9) << ")";
  EXPECT_EQ(phrase.shape(), other.shape());
  EXPECT_EQ(phrase.with({"k", "8 * i"}), "rows(gpu[k].w, 8 * i)");
}

} // namespace

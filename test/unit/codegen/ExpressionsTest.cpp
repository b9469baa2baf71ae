//===- ExpressionsTest.cpp - Numbers as C++ expressions -------------------===//
//
// Which form of expression is chosen, and that any is what it stands for.
//
//===----------------------------------------------------------------------===//
#include "codegen/Expressions.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace lwcc;

namespace {

using Numbers = std::vector<int64_t>;

std::string overI(const Numbers &at, const Numbers &values) {
  NumberTables tables;
  std::string text = expressionFor({{"i", 8, at}}, values, tables);
  for (const auto &[name, numbers] : tables.all()) {
    text += " " + name + ":";
    for (int64_t number : numbers)
      text += " " + std::to_string(number);
  }
  return text;
}

TEST(Expressions, TakesTheSimplestExpression) {
  EXPECT_EQ(overI({0, 1, 2}, {7, 7, 7}), "7");
  EXPECT_EQ(overI({3}, {-5}), "-5");
  EXPECT_EQ(overI({0, 1, 2}, {0, 1, 2}), "i");
  EXPECT_EQ(overI({0, 1, 2}, {3, 4, 5}), "i + 3");
  EXPECT_EQ(overI({1, 2, 3}, {0, 16, 32}), "16 * i - 16");
  EXPECT_EQ(overI({0, 1, 2}, {4, 2, 0}), "-2 * i + 4");
  EXPECT_EQ(overI({0, 2, 4}, {0, 1, 2}), "table1[i] table1: 0 0 1 0 2");
}

TEST(Expressions, JoinsTwoLines) {
  EXPECT_EQ(overI({0, 1, 2, 3}, {16, 16, 15, 15}), "(i < 2 ? 16 : 15)");
  EXPECT_EQ(overI({0, 1, 2, 3}, {9, 5, 5, 5}), "(i < 1 ? 9 : 5)");
  EXPECT_EQ(overI({0, 1, 2, 3, 4, 5}, {0, 16, 32, 48, 64, 64}),
            "(i < 4 ? 16 * i : 64)");
  // Any two points lie on a line: that says nothing.
  EXPECT_EQ(overI({0, 1, 2, 3}, {0, 5, 1, 9}), "table1[i] table1: 0 5 1 9");
}

TEST(Expressions, SharesTables) {
  NumberTables tables;
  Numbers at = {0, 1, 2, 3}, values = {0, 5, 1, 9};
  EXPECT_EQ(expressionFor({{"i", 4, at}}, values, tables), "table1[i]");
  EXPECT_EQ(expressionFor({{"k", 4, at}}, values, tables), "table1[k]");
  EXPECT_EQ(tables.all().size(), 1u);
}

TEST(Expressions, FindsPeriods) {
  EXPECT_EQ(overI({0, 1, 2, 3, 4, 5, 6, 7}, {5, 9, 5, 9, 5, 9, 5, 9}),
            "table1[i % 2] table1: 5 9");
  // Twice may be by chance.
  EXPECT_EQ(overI({0, 1, 2, 3}, {5, 9, 5, 9}), "table1[i] table1: 5 9 5 9");
}

TEST(Expressions, FindsWhichVariablesMatter) {
  std::vector<Variable> both = {{"i", 2, {0, 0, 1, 1}}, {"k", 2, {0, 1, 0, 1}}};
  NumberTables tables;
  EXPECT_EQ(expressionFor(both, {0, 8, 0, 8}, tables), "8 * k");
  EXPECT_EQ(expressionFor(both, {3, 3, 4, 4}, tables), "i + 3");
  EXPECT_EQ(expressionFor(both, {1, 3, 11, 13}, tables), "10 * i + 2 * k + 1");
  EXPECT_EQ(expressionFor(both, {1, 3, 11, 12}, tables), "table1[2 * i + k]");
  EXPECT_EQ(tables.all()[0].second, (Numbers{1, 3, 11, 12}));
  // Of three variables the one that does not matter is left out.
  std::vector<Variable> three = {{"i", 2, {0, 0, 1, 1, 0, 0, 1, 1}},
                                 {"m", 2, {0, 0, 0, 0, 1, 1, 1, 1}},
                                 {"k", 2, {0, 1, 0, 1, 0, 1, 0, 1}}};
  EXPECT_EQ(expressionFor(three, {1, 3, 11, 12, 1, 3, 11, 12}, tables),
            "table1[2 * i + k]");
  EXPECT_EQ(expressionFor(three, {0, 1, 10, 11, 100, 101, 110, 111}, tables),
            "10 * i + 100 * m + k");
}

/// Computes an expression or condition: sums of products, comparisons, choices,
/// look-ups.
class Calculator {
public:
  Calculator(llvm::StringRef text, const std::map<std::string, int64_t> &values,
             const NumberTables &tables)
      : rest(text), values(values), tables(tables) {}
  int64_t choice() {
    int64_t value = comparison();
    while (take("&&"))
      value &= comparison();
    if (!take("?"))
      return value;
    int64_t yes = choice();
    EXPECT_TRUE(take(":"));
    int64_t no = choice();
    return value ? yes : no;
  }
  bool isAtEnd() { return rest.trim().empty(); }

private:
  bool take(llvm::StringRef word) {
    rest = rest.ltrim();
    return rest.consume_front(word);
  }
  int64_t comparison() {
    int64_t value = sum();
    if (take("=="))
      return value == sum();
    if (take("!="))
      return value != sum();
    if (take("<="))
      return value <= sum();
    if (take(">="))
      return value >= sum();
    if (take("<"))
      return value < sum();
    return value;
  }
  int64_t sum() {
    int64_t value = take("-") ? -product() : product();
    while (true)
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
  }
  int64_t product() {
    int64_t value = atom();
    while (true)
      if (take("*"))
        value *= atom();
      else if (take("%"))
        value %= atom();
      else
        return value;
  }
  int64_t atom() {
    if (take("(")) {
      int64_t value = choice();
      EXPECT_TRUE(take(")"));
      return value;
    }
    rest = rest.ltrim();
    int64_t number;
    if (!rest.consumeInteger(10, number))
      return number;
    std::string name = rest.take_while([](char c) { return isalnum(c); }).str();
    rest = rest.drop_front(name.size());
    if (!take("["))
      return values.at(name);
    int64_t index = choice();
    EXPECT_TRUE(take("]"));
    for (const auto &[table, numbers] : tables.all())
      if (table == name)
        return numbers.at(index);
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  llvm::StringRef rest;
  const std::map<std::string, int64_t> &values;
  const NumberTables &tables;
};

/// The value of a text at a point.
int64_t valueOf(llvm::StringRef text, llvm::ArrayRef<Variable> variables,
                size_t point, const NumberTables &tables) {
  std::map<std::string, int64_t> at;
  for (const Variable &variable : variables)
    at[variable.name.str()] = variable.at[point];
  Calculator calculator(text, at, tables);
  int64_t value = calculator.choice();
  EXPECT_TRUE(calculator.isAtEnd()) << text.str();
  return value;
}

TEST(Expressions, ConditionsCompareWhereTheyCan) {
  std::vector<Variable> both = {{"i", 2, {0, 0, 0, 0, 1, 1, 1, 1}},
                                {"m", 4, {0, 1, 2, 3, 0, 1, 2, 3}}};
  NumberTables tables;
  auto condition = [&](const Numbers &flags) {
    return conditionFor(both, flags, tables);
  };
  EXPECT_EQ(condition({0, 0, 0, 0, 1, 1, 1, 1}), "i == 1");
  EXPECT_EQ(condition({0, 0, 1, 1, 0, 0, 1, 1}), "m >= 2");
  EXPECT_EQ(condition({1, 1, 0, 1, 1, 1, 0, 1}), "m != 2");
  EXPECT_EQ(condition({0, 1, 1, 0, 0, 1, 1, 0}), "m >= 1 && m <= 2");
  EXPECT_EQ(condition({1, 0, 0, 0, 0, 0, 0, 1}), "table1[4 * i + m]");
}

TEST(Expressions, AreWhatTheyStandFor) {
  std::mt19937 random(1);
  auto below = [&](int64_t bound) { return int64_t(random() % bound); };
  const std::vector<std::string> names = {"i", "m", "k"};
  for (int round = 0; round < 3000; ++round) {
    // Some points of a grid, and values of a random kind.
    std::vector<Variable> variables;
    for (size_t v = 0, count = 1 + below(3); v < count; ++v)
      variables.push_back({names[v], 1 + below(9), {}});
    int64_t all = 1, dense = below(2);
    for (const Variable &variable : variables)
      all *= variable.count;
    int64_t kind = below(5), ignored = below(3), period = 1 + below(3);
    Numbers values, slopes = {below(9) - 4, below(9) - 4, below(9) - 4};
    std::map<int64_t, int64_t> chaos;
    for (int64_t point = 0; point < all; ++point) {
      if (!dense && below(3) == 0)
        continue;
      int64_t rest = point, value = 7, key = 0;
      for (auto [v, variable] : llvm::enumerate(variables)) {
        int64_t at = rest % variable.count;
        rest /= variable.count;
        variable.at.push_back(at);
        int64_t x = kind == 1 ? at % period : kind == 2 ? at / period : at;
        value += slopes[v] * x;
        key = 16 * key + (int64_t(v) == ignored ? 0 : x);
      }
      values.push_back(
          kind < 3 ? value
                   : chaos.try_emplace(key, below(100) - 50).first->second);
    }
    if (values.empty())
      continue;
    NumberTables tables;
    std::string text = expressionFor(variables, values, tables);
    for (size_t n = 0; n < values.size(); ++n)
      ASSERT_EQ(valueOf(text, variables, n, tables), values[n]) << text;
    // Those above the mean, unless these are all or none.
    Numbers flags;
    for (int64_t value : values)
      flags.push_back(
          value > std::accumulate(values.begin(), values.end(), int64_t(0)) /
                      int64_t(values.size()));
    if (int64_t count = llvm::count(flags, 1);
        count == 0 || count == int64_t(flags.size()))
      continue;
    text = conditionFor(variables, flags, tables);
    for (size_t n = 0; n < values.size(); ++n)
      ASSERT_EQ(valueOf(text, variables, n, tables), flags[n]) << text;
  }
}

} // namespace

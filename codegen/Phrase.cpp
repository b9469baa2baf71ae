//===- Phrase.cpp - Text with numbers that devices differ in --------------===//

#include "codegen/Phrase.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

using namespace lwcc;
using llvm::ArrayRef;
using llvm::StringRef;

const std::string &NumberTables::nameOf(const std::vector<int64_t> &numbers) {
  auto [entry, isNew] = known.try_emplace(numbers, tables.size());
  if (isNew)
    tables.push_back({"table" + std::to_string(tables.size() + 1), numbers});
  return tables[entry->second].first;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {
/// The linear function slope * x + start.
struct Line {
  int64_t slope = 0, start = 0;
  bool holds(int64_t x, int64_t value) const {
    return slope * x + start == value;
  }
};
} // namespace

/// The line through all points, if there is one.
static std::optional<Line> lineThrough(ArrayRef<int64_t> at,
                                       ArrayRef<int64_t> values) {
  Line line{0, values[0]};
  if (at.size() > 1) {
    int64_t run = at[1] - at[0], rise = values[1] - values[0];
    if (rise % run != 0)
      return std::nullopt;
    line = {rise / run, values[0] - rise / run * at[0]};
  }
  for (auto [x, value] : llvm::zip_equal(at, values))
    if (!line.holds(x, value))
      return std::nullopt;
  return line;
}

/// Prints a sum of terms `factor * variable` and a constant.
static std::string linear(ArrayRef<std::pair<int64_t, StringRef>> terms,
                          int64_t rest) {
  std::string text;
  auto add = [&](int64_t value, const std::string &magnitude) {
    if (text.empty())
      text = (value < 0 ? "-" : "") + magnitude;
    else
      text += (value < 0 ? " - " : " + ") + magnitude;
  };
  for (auto [factor, variable] : terms)
    if (factor != 0)
      add(factor,
          (std::abs(factor) == 1 ? ""
                                 : std::to_string(std::abs(factor)) + " * ") +
              variable.str());
  if (rest != 0 || text.empty())
    add(rest, std::to_string(std::abs(rest)));
  return text;
}

std::string lwcc::expressionFor(StringRef variable, ArrayRef<int64_t> at,
                                ArrayRef<int64_t> values,
                                NumberTables &tables) {
  auto text = [&](const Line &line) {
    return linear({{line.slope, variable}}, line.start);
  };
  if (std::optional<Line> line = lineThrough(at, values))
    return text(*line);
  // A line through two points explains nothing, unless it is constant.
  auto means = [](const std::optional<Line> &line, size_t points) {
    return line && (line->slope == 0 || points > 2);
  };
  for (size_t split = 1; split < at.size(); ++split) {
    auto low = lineThrough(at.take_front(split), values.take_front(split));
    auto high = lineThrough(at.drop_front(split), values.drop_front(split));
    if (means(low, split) && means(high, at.size() - split))
      return "(" + variable.str() + " < " + std::to_string(at[split]) + " ? " +
             text(*low) + " : " + text(*high) + ")";
  }
  std::vector<int64_t> table(at.back() + 1, 0);
  for (auto [x, value] : llvm::zip_equal(at, values))
    table[x] = value;
  return tables.nameOf(table) + "[" + variable.str() + "]";
}

/// The values as a function of one variable, if they are one.
static std::optional<std::map<int64_t, int64_t>>
functionOf(ArrayRef<int64_t> at, ArrayRef<int64_t> values) {
  std::map<int64_t, int64_t> function;
  for (auto [x, value] : llvm::zip_equal(at, values))
    if (function.try_emplace(x, value).first->second != value)
      return std::nullopt;
  return function;
}

std::string lwcc::expressionFor(ArrayRef<int64_t> atI, ArrayRef<int64_t> atK,
                                ArrayRef<int64_t> values, int64_t count,
                                NumberTables &tables) {
  auto split = [](const std::map<int64_t, int64_t> &function) {
    std::vector<int64_t> at, values;
    for (auto [x, value] : function) {
      at.push_back(x);
      values.push_back(value);
    }
    return std::pair(at, values);
  };
  for (auto [variable, at] : {std::pair("k", atK), std::pair("i", atI)})
    if (auto function = functionOf(at, values)) {
      auto [xs, ys] = split(*function);
      return expressionFor(variable, xs, ys, tables);
    }
  // The plane through the first point and one that differs from it in each
  // variable.
  int64_t slopeI = 0, slopeK = 0;
  for (size_t n = 1; n < values.size(); ++n) {
    int64_t di = atI[n] - atI[0], dk = atK[n] - atK[0];
    int64_t rise = values[n] - values[0];
    if (di == 0 && dk != 0 && slopeK == 0)
      slopeK = rise / dk;
  }
  for (size_t n = 1; n < values.size(); ++n)
    if (int64_t di = atI[n] - atI[0]; di != 0) {
      slopeI = (values[n] - values[0] - slopeK * (atK[n] - atK[0])) / di;
      break;
    }
  int64_t rest = values[0] - slopeI * atI[0] - slopeK * atK[0];
  bool isPlane = true;
  for (size_t n = 0; n < values.size(); ++n)
    isPlane &= slopeI * atI[n] + slopeK * atK[n] + rest == values[n];
  if (isPlane)
    return linear({{slopeI, "i"}, {slopeK, "k"}}, rest);
  std::vector<int64_t> table;
  for (size_t n = 0; n < values.size(); ++n) {
    size_t index = atI[n] * count + atK[n];
    table.resize(std::max(table.size(), index + 1), 0);
    table[index] = values[n];
  }
  return tables.nameOf(table) + "[" + linear({{count, "i"}, {1, "k"}}, 0) + "]";
}

//===----------------------------------------------------------------------===//
// Phrases
//===----------------------------------------------------------------------===//

Phrase &Phrase::operator<<(StringRef more) {
  text += more;
  return *this;
}

Phrase &Phrase::operator<<(int64_t number) {
  text += mark;
  values.push_back(number);
  return *this;
}

Phrase &Phrase::operator<<(const Phrase &other) {
  text += other.text;
  values.insert(values.end(), other.values.begin(), other.values.end());
  return *this;
}

std::string Phrase::with(ArrayRef<std::string> expressions) const {
  std::string result;
  size_t next = 0;
  for (char c : text)
    if (c == mark)
      result += expressions[next++];
    else
      result += c;
  assert(next == expressions.size() && "one expression a number");
  return result;
}

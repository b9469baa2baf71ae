//===- Expressions.cpp - Numbers as C++ expressions -----------------------===//

#include "codegen/Expressions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace lwcc;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

const std::string &NumberTables::nameOf(const std::vector<int64_t> &numbers) {
  auto [entry, isNew] = known.try_emplace(numbers, tables.size());
  if (isNew)
    tables.push_back({"table" + std::to_string(tables.size() + 1), numbers});
  return tables[entry->second].first;
}

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

/// An expression of one variable, whose values `at` ascend.
static std::string ofOneVariable(StringRef variable, ArrayRef<int64_t> at,
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
  // A table of one period, if that comes back often enough to be meant.
  constexpr size_t periods = 4;
  for (size_t period = 2; period * periods <= at.size(); ++period) {
    std::vector<int64_t> table(period, 0);
    std::vector<bool> isKnown(period, false);
    bool fits = true;
    for (auto [x, value] : llvm::zip_equal(at, values)) {
      size_t place = x % period;
      fits &= !isKnown[place] || table[place] == value;
      table[place] = value;
      isKnown[place] = true;
    }
    if (fits)
      return tables.nameOf(table) + "[" + variable.str() + " % " +
             std::to_string(period) + "]";
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

/// The plane through all points, if there is one: the slope of each variable,
/// then the constant.
static std::optional<std::vector<int64_t>>
planeThrough(ArrayRef<Variable> variables, ArrayRef<int64_t> values) {
  std::vector<int64_t> slopes(variables.size(), 0);
  // The slope of the last variable shows where only it differs from the first
  // point, that of the one before where they two do, and so on.
  for (size_t v = variables.size(); v-- > 0;)
    for (size_t n = 1; n < values.size(); ++n) {
      int64_t run = variables[v].at[n] - variables[v].at[0];
      bool isAlone = run != 0;
      for (size_t w = 0; w < v; ++w)
        isAlone &= variables[w].at[n] == variables[w].at[0];
      if (!isAlone)
        continue;
      int64_t rise = values[n] - values[0];
      for (size_t w = v + 1; w < variables.size(); ++w)
        rise -= slopes[w] * (variables[w].at[n] - variables[w].at[0]);
      slopes[v] = rise / run;
      break;
    }
  auto at = [&](size_t n) {
    int64_t sum = 0;
    for (auto [variable, slope] : llvm::zip_equal(variables, slopes))
      sum += slope * variable.at[n];
    return sum;
  };
  int64_t rest = values[0] - at(0);
  for (size_t n = 0; n < values.size(); ++n)
    if (at(n) + rest != values[n])
      return std::nullopt;
  slopes.push_back(rest);
  return slopes;
}

/// A look-up in a table over some variables, if these determine the values.
static std::optional<std::string> lookUp(ArrayRef<const Variable *> variables,
                                         ArrayRef<int64_t> values,
                                         NumberTables &tables) {
  std::vector<int64_t> strides(variables.size(), 1);
  for (size_t v = variables.size() - 1; v-- > 0;)
    strides[v] = strides[v + 1] * variables[v + 1]->count;
  std::map<int64_t, int64_t> table;
  for (auto [n, value] : llvm::enumerate(values)) {
    int64_t index = 0;
    for (auto [variable, stride] : llvm::zip_equal(variables, strides))
      index += stride * variable->at[n];
    if (table.try_emplace(index, value).first->second != value)
      return std::nullopt;
  }
  std::vector<int64_t> numbers(table.rbegin()->first + 1, 0);
  for (auto [index, value] : table)
    numbers[index] = value;
  std::vector<std::pair<int64_t, StringRef>> terms;
  for (auto [variable, stride] : llvm::zip_equal(variables, strides))
    terms.push_back({stride, variable->name});
  return tables.nameOf(numbers) + "[" + linear(terms, 0) + "]";
}

std::string lwcc::expressionFor(ArrayRef<Variable> variables,
                                ArrayRef<int64_t> values,
                                NumberTables &tables) {
  for (const Variable &variable : llvm::reverse(variables))
    if (auto function = functionOf(variable.at, values)) {
      std::vector<int64_t> at, of;
      for (auto [x, value] : *function) {
        at.push_back(x);
        of.push_back(value);
      }
      return ofOneVariable(variable.name, at, of, tables);
    }
  if (auto plane = planeThrough(variables, values)) {
    std::vector<std::pair<int64_t, StringRef>> terms;
    for (auto [n, variable] : llvm::enumerate(variables))
      terms.push_back({(*plane)[n], variable.name});
    return linear(terms, plane->back());
  }
  // The fewest variables that determine the values.
  for (size_t left = 0; left < variables.size() && variables.size() > 2;
       ++left) {
    llvm::SmallVector<const Variable *> some;
    for (auto [v, variable] : llvm::enumerate(variables))
      if (v != left)
        some.push_back(&variable);
    if (auto text = lookUp(some, values, tables))
      return *text;
  }
  llvm::SmallVector<const Variable *> all;
  for (const Variable &variable : variables)
    all.push_back(&variable);
  auto text = lookUp(all, values, tables);
  assert(text && "points differ in a variable");
  return *text;
}

/// A C++ condition: `variable` is one of `some`, a proper subset of `all`; both
/// ascend. Empty if no comparison says it.
static std::string isOneOf(StringRef variable, ArrayRef<int64_t> some,
                           ArrayRef<int64_t> all) {
  auto text = [&](StringRef relation, int64_t value) {
    return (variable + " " + relation + " " + Twine(value)).str();
  };
  if (some.size() == 1)
    return text("==", some[0]);
  size_t first = llvm::find(all, some.front()) - all.begin();
  bool inRow = all.size() - first >= some.size() &&
               all.slice(first, some.size()) == some;
  if (inRow && first == 0)
    return text("<=", some.back());
  if (inRow && some.back() == all.back())
    return text(">=", some.front());
  if (some.size() + 1 == all.size())
    for (int64_t value : all)
      if (!llvm::is_contained(some, value))
        return text("!=", value);
  return inRow ? text(">=", some.front()) + " && " + text("<=", some.back())
               : "";
}

std::string lwcc::conditionFor(ArrayRef<Variable> variables,
                               ArrayRef<int64_t> flags, NumberTables &tables) {
  for (const Variable &variable : variables) {
    // The variable alone decides if its values say which points are meant.
    std::set<int64_t> some, others;
    for (auto [at, flag] : llvm::zip_equal(variable.at, flags))
      (flag ? some : others).insert(at);
    if (llvm::any_of(some, [&](int64_t at) { return others.contains(at); }))
      continue;
    std::vector<int64_t> wanted(some.begin(), some.end());
    others.merge(some);
    std::string text =
        isOneOf(variable.name, wanted,
                std::vector<int64_t>(others.begin(), others.end()));
    if (!text.empty())
      return text;
  }
  return expressionFor(variables, flags, tables);
}

//===- CsvSource.cpp - Tables of numbers, with columns of targets ---------===//
//
// Decides what the columns of a table mean: --target-columns are labels or
// targets, or the last ones; --columns are the model's input, or all others.
// The first row has their names if one of its cells is no number. Everything
// becomes arrays, which ArraySource.cpp checks as it does those of NumPy.
//
// Labels are numbers of classes, or names: then classes are numbered in the
// order of their names, as those of folders of pictures are.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/data/CsvReader.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace lwcc::rt::train {

namespace {

/// Where the cells of a column go.
struct Columns {
  std::vector<size_t> inputs, targets;
};

/// A table while it is read.
class CsvTable {
public:
  CsvTable(const std::string &path, DataRole role, const ModelInput &input)
      : path(path), role(role), input(input), file(path),
        reader(path, file.text()) {}
  std::unique_ptr<DataSource> open();

private:
  void readNames();
  void chooseColumns();
  std::vector<size_t> find(const std::vector<std::string> &wanted,
                           const char *flag) const;
  void readRow();
  float numberIn(size_t column, bool mayBeMissing);
  void mistake(size_t column, const std::string &what);
  Array labels(std::vector<std::string> &classNames) const;
  template <typename T>
  Array arrayOf(std::vector<T> values, ElementType type,
                std::vector<int64_t> dims) const;

  const std::string path;
  const DataRole role;
  const ModelInput &input;
  MappedFile file;
  CsvReader reader;
  std::vector<std::string_view> cells;
  bool hasRow = false; ///< of numbers, which was read to find the names
  std::vector<std::string> names;
  Columns columns;
  std::vector<float> features, targets;
  std::vector<std::string> labelTexts;
  int64_t rows = 0, mistakes = 0;
  std::string firstMistakes;
};

} // namespace

/// With the sign that spreadsheets may write.
static std::optional<double> numberOf(std::string_view text) {
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  double value = 0;
  return parseNumber(text, value) ? std::optional(value) : std::nullopt;
}

/// What spreadsheets and pandas write where there is nothing.
static bool isMissing(std::string_view text) {
  for (const char *word : {"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
    if (text == word)
      return true;
  return false;
}

void CsvTable::readNames() {
  if (!reader.next(cells))
    throw Error(path + ": holds no row");
  hasRow = std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
    return numberOf(cell) || isMissing(cell);
  });
  for (size_t i = 0; i < cells.size(); ++i)
    names.push_back(hasRow ? std::to_string(i) : std::string(cells[i]));
}

/// The columns of these names; without names in the file, of these numbers.
std::vector<size_t> CsvTable::find(const std::vector<std::string> &wanted,
                                   const char *flag) const {
  std::vector<size_t> found;
  std::string missing;
  for (const std::string &name : wanted) {
    auto known = std::find(names.begin(), names.end(), name);
    if (known != names.end())
      found.push_back(known - names.begin());
    else
      missing += (missing.empty() ? "'" : ", '") + name + "'";
  }
  if (!missing.empty())
    throw Error(path + ": has no column " + missing + " (" + flag +
                "); it has " + listOf(names) +
                (hasRow ? ", since its first row has no names" : ""));
  return found;
}

void CsvTable::chooseColumns() {
  const auto wanted = static_cast<size_t>(elementsOf(input.dims));
  const bool isOwnTarget = input.reconstructs() &&
                           input.targetColumns.empty() &&
                           (!input.columns.empty() || names.size() == wanted);
  const auto targetCount =
      static_cast<size_t>(isOwnTarget ? 0 : input.labelsPerSample());
  // What is to be predicted may have its answers or not.
  const bool isAsked = !input.readsLabels(role);
  if (!input.targetColumns.empty()) {
    auto isThere = [&](const std::string &name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!isAsked || std::any_of(input.targetColumns.begin(),
                                input.targetColumns.end(), isThere))
      columns.targets = find(input.targetColumns, "--target-columns");
  } else if (!isAsked || names.size() == wanted + targetCount) {
    const size_t count = std::min(targetCount, names.size());
    columns.targets.resize(count);
    std::iota(columns.targets.begin(), columns.targets.end(),
              names.size() - count);
  }
  if (!input.columns.empty()) {
    columns.inputs = find(input.columns, "--columns");
  } else {
    for (size_t i = 0; i < names.size(); ++i)
      if (std::find(columns.targets.begin(), columns.targets.end(), i) ==
          columns.targets.end())
        columns.inputs.push_back(i);
  }
  if (columns.inputs.size() != wanted) {
    std::vector<std::string> inputs, own;
    for (size_t i : columns.inputs)
      inputs.push_back(names[i]);
    for (size_t i : columns.targets)
      own.push_back(names[i]);
    throw Error(path + ": has " + plural(int64_t(inputs.size()), "column") +
                " (" + listOf(inputs) + ")" +
                (own.empty() ? "" : " beside the target " + listOf(own)) +
                "; the model takes " + countText(int64_t(wanted)) +
                (input.columns.empty() ? ": --columns=A,B,... names those "
                                         "that it is to see, "
                                         "--target-columns=C the target"
                                       : ""));
  }
  if (!columns.targets.empty() && columns.targets.size() != targetCount)
    throw Error(path + ": --target-columns names " +
                plural(int64_t(columns.targets.size()), "column") +
                "; the model has " + countText(int64_t(targetCount)) +
                (input.loss.empty() ? " label" : " output") +
                (targetCount == 1 ? "" : "s") + " for each sample");
  if (isAsked)
    columns.targets.clear();
}

void CsvTable::mistake(size_t column, const std::string &what) {
  constexpr int64_t most = 3;
  if (++mistakes <= most)
    firstMistakes += "\n  " + path + ":" + std::to_string(reader.line()) +
                     ": " + what + " in column " + names[column];
}

float CsvTable::numberIn(size_t column, bool mayBeMissing) {
  const std::string_view cell = cells[column];
  const std::optional<double> value = numberOf(cell);
  if (value && std::isfinite(static_cast<float>(*value)))
    return static_cast<float>(*value);
  if (!mayBeMissing || !isMissing(cell))
    mistake(column, isMissing(cell) ? "nothing"
                    : value && std::isfinite(*value)
                        ? "'" + std::string(cell) + "', which no float holds,"
                        : "'" + std::string(cell) + "', which is no number,");
  return std::numeric_limits<float>::quiet_NaN();
}

void CsvTable::readRow() {
  if (cells.size() != names.size())
    throw Error(path + ":" + std::to_string(reader.line()) + ": has " +
                plural(int64_t(cells.size()), "cell") + "; the first row has " +
                countText(int64_t(names.size())));
  ++rows;
  for (size_t column : columns.inputs)
    features.push_back(numberIn(column, /*mayBeMissing=*/false));
  for (size_t column : columns.targets)
    if (!input.loss.empty())
      targets.push_back(numberIn(column, /*mayBeMissing=*/true));
    else if (isMissing(cells[column]))
      mistake(column, "no label");
    else
      labelTexts.emplace_back(cells[column]);
}

template <typename T>
Array CsvTable::arrayOf(std::vector<T> values, ElementType type,
                        std::vector<int64_t> dims) const {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return {path, type, std::move(dims),
          reinterpret_cast<const char *>(kept->data()), kept};
}

/// The numbers of the classes.
Array CsvTable::labels(std::vector<std::string> &classNames) const {
  std::vector<int64_t> numbers;
  for (const std::string &text : labelTexts)
    if (auto value = numberOf(text);
        value && *value == std::trunc(*value) && std::fabs(*value) < (1 << 30))
      numbers.push_back(static_cast<int64_t>(*value));
  if (numbers.size() < labelTexts.size() || !input.classNames.empty()) {
    classNames = input.classNames;
    if (classNames.empty()) {
      const std::set<std::string> distinct(labelTexts.begin(),
                                           labelTexts.end());
      classNames.assign(distinct.begin(), distinct.end());
    }
    if (int64_t(classNames.size()) > input.classes)
      throw Error(path + ": has " +
                  plural(int64_t(classNames.size()), "label") + " (" +
                  listOf(classNames) + "); the model has " +
                  plural(input.classes, "output"));
    std::map<std::string_view, int64_t> numberOfClass;
    for (const std::string &name : classNames)
      numberOfClass.try_emplace(name, int64_t(numberOfClass.size()));
    numbers.clear();
    for (const std::string &text : labelTexts) {
      auto known = numberOfClass.find(text);
      if (known == numberOfClass.end())
        throw Error(path + ": has the label '" + text +
                    "', which the training lacks; it has " +
                    listOf(classNames));
      numbers.push_back(known->second);
    }
  }
  std::vector<int64_t> dims{rows};
  dims.insert(dims.end(), input.labels.begin(), input.labels.end());
  return arrayOf(std::move(numbers), {'i', 8}, std::move(dims));
}

std::unique_ptr<DataSource> CsvTable::open() {
  readNames();
  chooseColumns();
  if (hasRow)
    readRow();
  while (reader.next(cells))
    readRow();
  if (mistakes)
    throw Error(path + ": " + plural(mistakes, "cell") +
                " cannot be read; the first:" + firstMistakes);
  std::vector<std::string> classNames;
  std::optional<Array> answers;
  if (!columns.targets.empty())
    answers = input.loss.empty()
                  ? labels(classNames)
                  : arrayOf(std::move(targets), {'f', 4},
                            {rows, int64_t(columns.targets.size())});
  // An image is a row of its pixels, plane by plane.
  std::vector<int64_t> dims{rows};
  if (input.dims.size() == 3 || input.tokens)
    dims.insert(dims.end(), input.dims.begin(), input.dims.end());
  else
    dims.push_back(int64_t(columns.inputs.size()));
  Array values;
  if (input.tokens) {
    std::vector<int64_t> tokens;
    // A float may be an integer that int64_t cannot hold.
    for (float value : features)
      if (value == std::trunc(value) && std::fabs(value) < 0x1p63f)
        tokens.push_back(static_cast<int64_t>(value));
      else
        throw Error(path + ": holds " + numberText(value) +
                    "; the model takes integers");
    values = arrayOf(std::move(tokens), {'i', 8}, std::move(dims));
  } else {
    values = arrayOf(std::move(features), {'f', 4}, std::move(dims));
  }
  return makeArraySource(std::move(values), std::move(answers), input,
                         std::move(classNames));
}

std::unique_ptr<DataSource> openCsv(const std::string &path, DataRole role,
                                    const ModelInput &input) {
  return CsvTable(path, role, input).open();
}

} // namespace lwcc::rt::train

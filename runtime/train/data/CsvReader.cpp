//===- CsvReader.cpp - Rows and cells of a CSV file -----------------------===//

#include "runtime/train/data/CsvReader.h"

#include "runtime/core/Error.h"

#include <algorithm>

namespace lwcc::rt::train {

/// The one that the first line has most of, outside of quotes.
static char separatorOf(std::string_view text) {
  static constexpr char known[] = {',', ';', '\t'};
  int64_t counts[3] = {};
  bool isQuoted = false;
  for (char c : text) {
    if (c == '\n' && !isQuoted)
      break;
    isQuoted ^= c == '"';
    if (auto found = std::find(known, known + 3, c);
        !isQuoted && found != known + 3)
      ++counts[found - known];
  }
  return known[std::max_element(counts, counts + 3) - counts];
}

static std::string_view withoutSpaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\r'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

CsvReader::CsvReader(std::string path, std::string_view text)
    : path(std::move(path)), rest(text) {
  constexpr std::string_view mark = "\xef\xbb\xbf"; // that a text is UTF-8
  if (rest.starts_with(mark))
    rest.remove_prefix(mark.size());
  separator = separatorOf(rest);
}

/// The cell whose opening quote is next, taken off the text.
std::string_view CsvReader::quoted() {
  const int64_t begin = nextLine;
  bool hasQuotes = false;
  size_t end = 1;
  for (;; ++end) {
    if (end >= rest.size())
      throw Error(path + ":" + std::to_string(begin) +
                  ": a quoted cell begins here and does not end");
    nextLine += rest[end] == '\n';
    if (rest[end] != '"')
      continue;
    if (end + 1 >= rest.size() || rest[end + 1] != '"')
      break;
    hasQuotes = true;
    ++end;
  }
  std::string_view cell = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  if (!hasQuotes)
    return cell;
  std::string &text = unescaped.emplace_back();
  for (size_t at = 0; at < cell.size(); ++at) {
    text += cell[at];
    at += cell[at] == '"'; // the second of two
  }
  return text;
}

bool CsvReader::next(std::vector<std::string_view> &cells) {
  cells.clear();
  unescaped.clear();
  while (!rest.empty() && (rest.front() == '\n' || rest.front() == '\r')) {
    nextLine += rest.front() == '\n';
    rest.remove_prefix(1);
  }
  rowLine = nextLine;
  if (rest.empty())
    return false;
  for (;;) {
    while (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
    std::string_view cell;
    const bool isQuoted = !rest.empty() && rest.front() == '"';
    if (isQuoted)
      cell = quoted();
    const char ends[] = {separator, '\n', '\0'};
    const size_t end = std::min(rest.find_first_of(ends), rest.size());
    const std::string_view plain = withoutSpaces(rest.substr(0, end));
    if (isQuoted && !plain.empty())
      throw Error(path + ":" + std::to_string(nextLine) + ": '" +
                  std::string(plain) +
                  "' stands behind the end of a quoted "
                  "cell");
    cells.push_back(isQuoted ? cell : plain);
    rest.remove_prefix(end);
    if (rest.empty())
      return true;
    const bool isLast = rest.front() == '\n';
    nextLine += isLast;
    rest.remove_prefix(1);
    if (isLast)
      return true;
  }
}

} // namespace lwcc::rt::train

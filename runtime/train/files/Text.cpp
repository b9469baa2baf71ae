//===- Text.cpp - Small pieces of text for people -------------------------===//

#include "runtime/train/files/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>

namespace lwcc::rt::train {

std::string format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(size > 0 ? size : 0, '\0');
  if (size > 0)
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string countText(int64_t count) {
  std::string text = std::to_string(count);
  int64_t first = count < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

std::string bytesText(int64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return format("%lld bytes", static_cast<long long>(bytes));
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  return format("%.1f %s", value, units[unit]);
}

std::string durationText(double seconds) {
  if (seconds < 60)
    return format("%.1f s", seconds);
  long long whole = static_cast<long long>(seconds + 0.5);
  if (whole < 3600)
    return format("%lld:%02lld", whole / 60, whole % 60);
  return format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                whole % 60);
}

std::string numberText(double value) {
  return std::isnan(value) ? "nan" : format("%g", value);
}

std::string listOf(const std::vector<std::string> &names) {
  constexpr size_t most = 5;
  std::string text;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::vector<std::string> splitAtCommas(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::string dimsText(const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

std::string plural(int64_t count, std::string_view noun) {
  const char *ending = count == 1 ? "" : noun.ends_with('s') ? "es" : "s";
  return countText(count) + " " + std::string(noun) + ending;
}

std::string listText(const char *title, const std::vector<std::string> &items) {
  constexpr size_t shown = 10;
  if (items.empty())
    return "";
  std::string text = format("\n  %s (%zu):", title, items.size());
  for (size_t i = 0; i < std::min(items.size(), shown); ++i)
    text += "\n    " + items[i];
  if (items.size() > shown)
    text += format("\n    and %zu more", items.size() - shown);
  return text;
}

/// Levenshtein distance, one row at a time.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

std::string nearest(std::string_view word,
                    const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // A word that was cut short ("checkpoint-int") is close as well.
    if (word.size() >= 3 && candidate.compare(0, word.size(), word) == 0)
      distance = std::min<size_t>(distance, 1);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

} // namespace lwcc::rt::train

//===- Text.h - Small pieces of text for people -----------------*- C++ -*-===//
//
// printf-style formatting into a string, and how the trainer spells sizes,
// counts and durations. Decides spellings only; prints nothing itself.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_TEXT_H
#define LWCC_RUNTIME_TRAIN_FILES_TEXT_H

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lwcc::rt::train {

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
std::string format(const char *pattern, ...);

/// "61,100,840"
std::string countText(int64_t count);
/// "233.1 MiB"
std::string bytesText(int64_t bytes);
/// "8.1 s", "1:05", "2:03:04"
std::string durationText(double seconds);
/// "nan" without a sign, "inf", "-inf", "0.25"
std::string numberText(double value);
/// "a, b, c, d, e and 7 more"
std::string listOf(const std::vector<std::string> &names);
/// Whether all of a text is a number of the type, which is stored then.
template <typename T>
bool parseNumber(std::string_view text, T &value) {
  const char *end = text.data() + text.size();
  T number{};
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end)
    return false;
  value = number;
  return true;
}
/// "a,b" as two; nothing as none.
std::vector<std::string> splitAtCommas(std::string_view text);
/// "3x224x224"
std::string dimsText(const std::vector<int64_t> &dims);
/// "1 image", "3 images", "2 classes"
std::string plural(int64_t count, std::string_view noun);

/// Below a message: "\n  TITLE (12):", a line for each of the first ten items,
/// and how many more there are; "" without items.
std::string listText(const char *title, const std::vector<std::string> &items);

/// The candidate with the smallest edit distance to `word`, or "" where none
/// is close enough to be a misspelling.
std::string nearest(std::string_view word,
                    const std::vector<std::string> &candidates);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_TEXT_H

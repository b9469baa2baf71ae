//===- TarFile.cpp - The members of a tar archive -------------------------===//

#include "runtime/train/files/TarFile.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <charconv>

namespace lwcc::rt::train {

static constexpr int64_t blockBytes = 512;

/// A field that ends at a NUL or a blank.
static std::string_view textOf(std::string_view field) {
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

/// A number in octal, or in base 256 where it would not fit; -1 if it is none.
static int64_t numberOf(std::string_view field) {
  if (static_cast<uint8_t>(field[0]) == 0x80) {
    int64_t value = 0;
    for (char byte : field.substr(1)) {
      if (value >> 48)
        return -1;
      value = value << 8 | static_cast<uint8_t>(byte);
    }
    return value;
  }
  std::string_view digits = textOf(field);
  while (!digits.empty() && digits.front() == ' ')
    digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ')
    digits.remove_suffix(1);
  int64_t value = -1;
  auto [stop, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, /*base=*/8);
  const bool whole =
      error == std::errc() && stop == digits.data() + digits.size();
  return whole && value >= 0 ? value : -1;
}

/// Whether the sum of the header's bytes, its own field taken as blanks, is the
/// one that it names.
static bool isSound(std::string_view header) {
  int64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(header[i]);
  return sum == numberOf(header.substr(148, 8));
}

/// The value of a pax record "LENGTH path=VALUE\n"; "" if there is none.
static std::string paxPath(std::string_view records) {
  while (!records.empty()) {
    size_t length = 0;
    auto [stop, error] = std::from_chars(
        records.data(), records.data() + records.size(), length);
    const size_t digits = stop - records.data();
    if (error != std::errc() || length > records.size() || length < digits + 2)
      return "";
    std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path="))
      return std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return "";
}

TarFile::TarFile(const std::string &path) : path(path), file(path) {
  readList();
}

void TarFile::readList() {
  std::string longName;
  for (int64_t at = 0; at + blockBytes <= file.size();) {
    const std::string_view header = file.text().substr(at, blockBytes);
    if (header.find_first_not_of('\0') == std::string_view::npos)
      return; // the end
    const int64_t size =
        isSound(header) ? numberOf(header.substr(124, 12)) : -1;
    if (size < 0)
      throw Error(path + ": not a tar archive, or damaged at byte " +
                  std::to_string(at));
    at += blockBytes;
    if (size > file.size() - at)
      throw Error(path + ": cut short in '" +
                  std::string(textOf(header.substr(0, 100))) + "'");
    const std::string_view bytes = file.text().substr(at, size);
    at += (size + blockBytes - 1) / blockBytes * blockBytes;
    const char kind = header[156];
    if (kind == 'L') {
      longName = textOf(bytes);
    } else if (kind == 'x') {
      longName = paxPath(bytes);
    } else {
      const bool hasPrefix = header.substr(257, 5) == "ustar" &&
                             header[262] == '\0' && header[345] != '\0';
      std::string name(textOf(header.substr(0, 100)));
      if (hasPrefix)
        name = std::string(textOf(header.substr(345, 155))) + "/" + name;
      if (!longName.empty())
        name = longName;
      longName.clear();
      if (kind == '0' || kind == '\0')
        list.push_back({std::move(name), bytes});
    }
  }
}

} // namespace lwcc::rt::train

//===- NpyReader.cpp - NumPy's file format --------------------------------===//
//
// "\x93NUMPY", version, the length of the header, and the header: a Python
// dictionary such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
// Only what numpy.save writes is accepted: these three keys, in any order.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CheckedMath.h"
#include "runtime/core/Error.h"
#include "runtime/train/data/Array.h"
#include "runtime/train/files/Files.h"
#include "runtime/train/files/Text.h"

#include <charconv>
#include <cstring>

namespace lwcc::rt::train {

namespace {
/// The header's dictionary.
class HeaderParser {
public:
  HeaderParser(std::string_view text, Array &array)
      : text(text), array(array) {}

  void parse() {
    expect('{');
    bool descr = false, order = false, shape = false;
    while (!accept('}')) {
      std::string_view key = parseString();
      expect(':');
      if (key == "descr") {
        descr = true;
        parseType();
      } else if (key == "fortran_order") {
        order = true;
        parseOrder();
      } else if (key == "shape") {
        shape = true;
        parseShape();
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at != text.size() || !descr || !order || !shape)
      fail();
  }

private:
  [[noreturn]] void fail() const {
    throw Error(array.path +
                ": damaged .npy header: " + std::string(text.substr(0, 200)));
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail();
  }
  std::string_view parseString() {
    skipSpace();
    char quote = at < text.size() ? text[at] : '\0';
    if (quote != '\'' && quote != '"')
      fail();
    size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      fail();
    std::string_view value = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return value;
  }
  bool acceptWord(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }

  void parseType() {
    skipSpace();
    if (at < text.size() && text[at] == '[')
      throw Error(array.path +
                  ": is a structured array; expected plain numbers");
    std::string_view descr = parseString();
    if (descr.size() < 3)
      fail();
    array.type.kind = descr[1];
    std::string_view digits = descr.substr(2);
    auto [stop, error] = std::from_chars(
        digits.data(), digits.data() + digits.size(), array.type.bytes);
    bool plain = error == std::errc() && stop == digits.data() + digits.size();
    int bytes = array.type.bytes;
    bool known =
        plain &&
        (((descr[1] == 'u' || descr[1] == 'i') &&
          (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) ||
         (descr[1] == 'f' && (bytes == 2 || bytes == 4 || bytes == 8)) ||
         (descr[1] == 'b' && bytes == 1));
    if (!known)
      throw Error(array.path + ": has elements of NumPy type '" +
                  std::string(descr) + "'; expected integers or floats");
    if (descr[0] == '>' && bytes > 1)
      throw Error(array.path + ": is big-endian ('" + std::string(descr) +
                  "'); save it in the machine's own byte order");
  }

  void parseOrder() {
    if (acceptWord("True"))
      throw Error(array.path + ": is in Fortran order; save "
                               "numpy.ascontiguousarray(...) of it");
    if (!acceptWord("False"))
      fail();
  }

  void parseShape() {
    expect('(');
    while (!accept(')')) {
      skipSpace();
      int64_t dim = -1;
      auto [stop, error] =
          std::from_chars(text.data() + at, text.data() + text.size(), dim);
      if (error != std::errc() || dim < 0)
        fail();
      at = stop - text.data();
      if (array.dims.size() == 64) // more than NumPy has
        fail();
      array.dims.push_back(dim);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text;
  Array &array;
  size_t at = 0;
};
} // namespace

Array readNpy(const std::string &path) {
  auto file = std::make_shared<MappedFile>(path);
  return parseNpy(path, file->text(), file);
}

Array parseNpy(const std::string &path, std::string_view text,
               std::shared_ptr<const void> owner) {
  Array array;
  array.path = path;
  if (text.substr(0, 6) != "\x93NUMPY" || text.size() < 10)
    throw Error(path + ": not a .npy file: it does not start with \\x93NUMPY");
  // The header's length has 2 bytes in version 1, 4 bytes since.
  int version = static_cast<unsigned char>(text[6]);
  size_t start = version == 1 ? 10 : 12;
  uint32_t length = 0;
  if (version < 1 || version > 3)
    throw Error(path + ": .npy format " + std::to_string(version) +
                " is unknown; expected 1, 2 or 3");
  if (text.size() < start)
    throw Error(path + ": cut short inside the .npy header");
  std::memcpy(&length, text.data() + 8, start - 8);
  if (length > text.size() - start)
    throw Error(path + ": cut short inside the .npy header");
  HeaderParser(text.substr(start, length), array).parse();

  auto bytes = checkedProduct(array.type.bytes, array.dims);
  if (!bytes)
    throw Error(path + ": damaged .npy header: an impossible shape");
  int64_t found = int64_t(text.size() - start - length);
  if (found < *bytes)
    throw Error(format(
        "%s: cut short: %s of %s need %lld bytes, the file "
        "holds %lld",
        path.c_str(), dimsText(array.dims).c_str(), array.type.name().c_str(),
        static_cast<long long>(*bytes), static_cast<long long>(found)));
  array.data = text.data() + start + length;
  array.owner = std::move(owner);
  return array;
}

} // namespace lwcc::rt::train

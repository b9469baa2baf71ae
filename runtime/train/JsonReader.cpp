//===- JsonReader.cpp - A strict reader of JSON ---------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Json.h"
#include "runtime/train/Text.h"

#include <charconv>

namespace lwcc::rt::train {

namespace {
class Parser {
public:
  Parser(std::string_view text, const std::string &what)
      : text(text), what(what) {}

  Json document() {
    Json value = parseValue(0);
    skipSpace();
    if (at != text.size())
      fail("something follows the value");
    return value;
  }

private:
  [[noreturn]] void fail(const char *reason) const {
    throw Error(
        format("%s: not valid JSON: %s at byte %zu", what.c_str(), reason, at));
  }
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                                text[at] == '\t' || text[at] == '\r'))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (peek() != c || at >= text.size())
      return false;
    ++at;
    return true;
  }
  void expectWord(std::string_view word) {
    if (text.substr(at, word.size()) != word)
      fail("unknown word");
    at += word.size();
  }

  Json parseValue(int depth) {
    // Deeper than anything we read, and far from the end of the stack.
    if (depth > 64)
      fail("nested too deeply");
    skipSpace();
    Json value;
    switch (peek()) {
    case '{':
      return parseObject(depth);
    case '[':
      return parseArray(depth);
    case '"':
      value.kind = Json::string;
      value.text = parseString();
      return value;
    case 't':
      expectWord("true");
      value.kind = Json::boolean;
      value.truth = true;
      return value;
    case 'f':
      expectWord("false");
      value.kind = Json::boolean;
      return value;
    case 'n':
      expectWord("null");
      return value;
    default:
      return parseNumber();
    }
  }

  Json parseObject(int depth) {
    Json value;
    value.kind = Json::object;
    ++at;
    if (accept('}'))
      return value;
    do {
      skipSpace();
      if (peek() != '"')
        fail("expected a member's name");
      std::string name = parseString();
      if (value.find(name))
        fail("a member's name appears twice");
      if (!accept(':'))
        fail("expected ':'");
      value.members.emplace_back(std::move(name), parseValue(depth + 1));
    } while (accept(','));
    if (!accept('}'))
      fail("expected ',' or '}'");
    return value;
  }

  Json parseArray(int depth) {
    Json value;
    value.kind = Json::array;
    ++at;
    if (accept(']'))
      return value;
    do
      value.items.push_back(parseValue(depth + 1));
    while (accept(','));
    if (!accept(']'))
      fail("expected ',' or ']'");
    return value;
  }

  void digits() {
    if (peek() < '0' || peek() > '9')
      fail("expected a value");
    while (peek() >= '0' && peek() <= '9')
      ++at;
  }

  Json parseNumber() {
    Json value;
    value.kind = Json::number;
    size_t start = at;
    if (peek() == '-')
      ++at;
    if (peek() == '0')
      ++at;
    else
      digits();
    if (peek() == '.') {
      ++at;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at;
      if (peek() == '+' || peek() == '-')
        ++at;
      digits();
    }
    value.text = text.substr(start, at - start);
    return value;
  }

  uint32_t parseHex4() {
    uint32_t code = 0;
    const char *begin = text.data() + at;
    if (at + 4 > text.size() ||
        std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4)
      fail("expected four hexadecimal digits");
    at += 4;
    return code;
  }

  /// A code point beyond 16 bits is written as two escapes.
  uint32_t parseEscapedCodePoint() {
    uint32_t high = parseHex4();
    if (high < 0xD800 || high > 0xDFFF)
      return high;
    if (high > 0xDBFF || text.substr(at, 2) != "\\u")
      fail("half of a surrogate pair");
    at += 2;
    uint32_t low = parseHex4();
    if (low < 0xDC00 || low > 0xDFFF)
      fail("half of a surrogate pair");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  static void appendUtf8(std::string &out, uint32_t code) {
    auto tail = [&](int shift) {
      out += static_cast<char>(0x80 | (code >> shift & 0x3F));
    };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0 | code >> 6);
      tail(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12);
      tail(6);
      tail(0);
    } else {
      out += static_cast<char>(0xF0 | code >> 18);
      tail(12);
      tail(6);
      tail(0);
    }
  }

  std::string parseString() {
    std::string out;
    ++at;
    while (true) {
      if (at >= text.size())
        fail("unterminated string");
      char c = text[at];
      if (static_cast<unsigned char>(c) < 0x20)
        fail("control character in a string");
      ++at;
      if (c == '"')
        return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      static constexpr std::string_view names = "\"\\/bfnrt";
      static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
      size_t index = names.find(peek());
      if (at < text.size() && index != std::string_view::npos) {
        out += values[index];
        ++at;
      } else if (peek() == 'u') {
        ++at;
        appendUtf8(out, parseEscapedCodePoint());
      } else {
        fail("unknown escape");
      }
    }
  }

  std::string_view text;
  const std::string &what;
  size_t at = 0;
};
} // namespace

Json parseJson(std::string_view text, const std::string &what) {
  return Parser(text, what).document();
}

} // namespace lwcc::rt::train

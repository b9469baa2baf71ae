//===- ParseJson.cpp - JSON from files ------------------------------------===//
//
// The parser is nlohmann-json's, which keeps its place on the heap: no text
// overflows the stack. Its events build LLVM's values, which the writers use,
// too.
//
//===----------------------------------------------------------------------===//

#include "ir/json/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <nlohmann/json.hpp>

using namespace lwcc;
namespace json = llvm::json;

namespace {
/// Characters of a text; all copies tell how far the furthest has come.
struct Reader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  const char &operator*() const { return *at; }
  Reader &operator++() {
    ++at;
    if (furthest)
      *furthest = at;
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reader &other) const { return at == other.at; }
  bool operator!=(const Reader &other) const { return at != other.at; }

  const char *at;
  const char **furthest;
};

/// What nlohmann::json::sax_parse calls; false stops it.
class Builder {
public:
  Builder(llvm::StringRef text, std::vector<std::string> &mistakes)
      : furthest(text.begin()), text(text), mistakes(mistakes) {}

  // clang-format off
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string &) { return add(value); }
  bool string(std::string &value) { return add(std::move(value)); }
  bool binary(std::vector<uint8_t> &) { return false; } // no JSON has it
  bool start_object(size_t) { return open(json::Object()); }
  bool start_array(size_t) { return open(json::Array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  // clang-format on

  bool key(std::string &name) {
    // Its closing quote was read last.
    if (stack.back().value.getAsObject()->get(name))
      mistake(furthest - name.size() - 2,
              llvm::formatv("\"{0}\" is there twice", name));
    stack.back().key = std::move(name);
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t, const std::string &token, const Exception &error) {
    llvm::StringRef message = error.what();
    constexpr int outOfRange = 406;
    if (error.id == outOfRange) {
      // The character behind it may have been read.
      size_t at = text.take_front(furthest - text.begin()).rfind(token);
      mistake(text.begin() + at, "the number " + token + " is too large");
      return false;
    }
    // "[json.exception.parse_error.101] parse error at line 2, column 1: ..."
    message = message.substr(message.find("] ") + 2);
    message.consume_front("parse error at ");
    mistakes.push_back(message.str());
    return false;
  }

  std::optional<json::Value> result;
  const char *furthest;

private:
  struct Level {
    json::Value value;
    std::string key; ///< that the next value of an object is for
  };

  bool add(json::Value value) {
    if (stack.empty()) {
      result = std::move(value);
      return true;
    }
    Level &level = stack.back();
    if (json::Object *object = level.value.getAsObject())
      (*object)[level.key] = std::move(value);
    else
      level.value.getAsArray()->push_back(std::move(value));
    return true;
  }
  bool open(json::Value value) {
    if (stack.size() == deepestJson) {
      mistake(furthest - 1,
              llvm::formatv("nested more than {0} deep", deepestJson));
      return false;
    }
    stack.push_back({std::move(value), ""});
    return true;
  }
  bool close() {
    json::Value value = std::move(stack.back().value);
    stack.pop_back();
    return add(std::move(value));
  }
  void mistake(const char *at, const std::string &message) {
    llvm::StringRef before = text.take_front(at - text.begin());
    mistakes.push_back(
        llvm::formatv("line {0}, column {1}: {2}", before.count('\n') + 1,
                      before.size() - (before.rfind('\n') + 1) + 1, message));
  }

  llvm::StringRef text;
  std::vector<std::string> &mistakes;
  std::vector<Level> stack;
};
} // namespace

std::optional<json::Value> lwcc::parseJson(llvm::StringRef text,
                                           std::vector<std::string> &mistakes) {
  const size_t before = mistakes.size();
  Builder builder(text, mistakes);
  nlohmann::json::sax_parse(Reader{text.begin(), &builder.furthest},
                            Reader{text.end(), nullptr}, &builder);
  if (mistakes.size() > before)
    return std::nullopt;
  return std::move(builder.result);
}

const json::Object *lwcc::parseObject(llvm::StringRef text, json::Value &value,
                                      std::vector<std::string> &mistakes) {
  std::optional<json::Value> parsed = parseJson(text, mistakes);
  if (!parsed)
    return nullptr;
  value = std::move(*parsed);
  const json::Object *object = value.getAsObject();
  if (!object)
    mistakes.push_back("expected an object");
  return object;
}

std::vector<llvm::StringRef> lwcc::namesOf(const json::Object &object) {
  std::vector<llvm::StringRef> names;
  for (const auto &entry : object)
    names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

json::Value lwcc::jsonText(llvm::StringRef text) {
  return json::isUTF8(text) ? json::Value(text)
                            : json::Value(json::fixUTF8(text));
}

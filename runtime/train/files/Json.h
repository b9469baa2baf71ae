//===- Json.h - A small JSON writer and a strict reader ---------*- C++ -*-===//
//
// For the records of --log, a checkpoint's state and the header of a
// safetensors file. nlohmann/json reads, and spells strings; only
// JsonReader.cpp includes it, since it takes seconds to compile. What we add to
// its reader: no name twice in an object, no bottomless nesting, no tree that
// is a hundred times its text, and numbers that keep their text. What we add to
// its writer: the digits of a float, null for what is not finite, and objects
// that are built member by member without a tree. The compiler has its own
// (ir/json/ParseJson.h says why).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_JSON_H
#define LWCC_RUNTIME_TRAIN_FILES_JSON_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

/// "text" with quotes and escapes; what is not UTF-8 becomes U+FFFD.
std::string jsonQuote(std::string_view text);

/// Builds {"name": value, ...}, members in the order of the calls. Numbers
/// that JSON cannot spell (NaN, infinity) become null.
class JsonObject {
public:
  JsonObject &add(std::string_view name, std::string_view value);
  JsonObject &add(std::string_view name, const char *value) {
    return add(name, std::string_view(value));
  }
  JsonObject &add(std::string_view name, int64_t value);
  JsonObject &add(std::string_view name, uint64_t value);
  JsonObject &add(std::string_view name, int value) {
    return add(name, int64_t(value));
  }
  /// Enough digits to get the same float back.
  JsonObject &add(std::string_view name, float value);
  JsonObject &add(std::string_view name, double value);
  JsonObject &add(std::string_view name, const std::vector<int64_t> &values);
  JsonObject &add(std::string_view name, std::span<const float> values);
  JsonObject &addRaw(std::string_view name, std::string_view json);
  std::string str() const { return "{" + members + "}"; }

private:
  std::string members;
};

struct Json {
  enum Kind { null, boolean, number, string, array, object };
  Kind kind = null;
  std::string text; ///< of a string (decoded) or number (as written)
  bool truth = false;
  std::vector<Json> items; ///< of an array, or an object's members
  std::string name;        ///< of a member

  /// The member of an object, or null.
  const Json *find(std::string_view name) const;
  /// Whether this is a whole number that fits; its value is stored.
  bool get(int64_t &value) const;
  bool get(uint64_t &value) const;
  /// Whether this is a number; it is stored, rounded.
  bool get(double &value) const;
};

/// Throws Error("WHAT: not valid JSON: REASON"), with line and column where it
/// is not JSON at all.
Json parseJson(std::string_view text, const std::string &what);

/// The same for the members of an object, one after another, of which there
/// may be too many for a tree. `visit` may take the value.
void visitJsonMembers(
    std::string_view text, const std::string &what,
    const std::function<void(const std::string &name, Json &value)> &visit);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_JSON_H

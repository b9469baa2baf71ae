//===- Json.cpp - JSON values and the writer ------------------------------===//

#include "runtime/train/files/Json.h"

#include "runtime/train/files/Text.h"

#include <charconv>
#include <cmath>

namespace lwcc::rt::train {

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

JsonObject &JsonObject::addRaw(std::string_view name, std::string_view json) {
  if (!members.empty())
    members += ", ";
  members += jsonQuote(name);
  members += ": ";
  members += json;
  return *this;
}

JsonObject &JsonObject::add(std::string_view name, std::string_view value) {
  return addRaw(name, jsonQuote(value));
}

JsonObject &JsonObject::add(std::string_view name, int64_t value) {
  return addRaw(name, std::to_string(value));
}

JsonObject &JsonObject::add(std::string_view name, uint64_t value) {
  return addRaw(name, std::to_string(value));
}

static std::string textOf(float value) {
  return std::isfinite(value) ? format("%.9g", value) : "null";
}

JsonObject &JsonObject::add(std::string_view name, float value) {
  return addRaw(name, textOf(value));
}

JsonObject &JsonObject::add(std::string_view name, double value) {
  return addRaw(name, std::isfinite(value) ? format("%.10g", value) : "null");
}

JsonObject &JsonObject::add(std::string_view name,
                            const std::vector<int64_t> &values) {
  std::string list;
  for (int64_t value : values)
    list += (list.empty() ? "" : ", ") + std::to_string(value);
  return addRaw(name, "[" + list + "]");
}

JsonObject &JsonObject::add(std::string_view name,
                            std::span<const float> values) {
  std::string list;
  for (float value : values)
    list += (list.empty() ? "" : ", ") + textOf(value);
  return addRaw(name, "[" + list + "]");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const Json *Json::find(std::string_view name) const {
  if (kind == object)
    for (const Json &member : items)
      if (member.name == name)
        return &member;
  return nullptr;
}

template <typename T>
static bool getWhole(const Json &json, T &value) {
  const char *end = json.text.data() + json.text.size();
  if (json.kind != Json::number)
    return false;
  auto [stop, error] = std::from_chars(json.text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool Json::get(int64_t &value) const { return getWhole(*this, value); }
bool Json::get(uint64_t &value) const { return getWhole(*this, value); }

bool Json::get(double &value) const {
  const char *end = text.data() + text.size();
  return kind == number &&
         std::from_chars(text.data(), end, value).ec == std::errc();
}

} // namespace lwcc::rt::train

//===- JsonFields.cpp - The fields of a JSON object -----------------------===//

#include "ir/json/JsonFields.h"
#include "ir/json/ParseJson.h"
#include "ir/json/Suggestion.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace lwcc;
namespace json = llvm::json;

const json::Value *JsonFields::find(llvm::StringRef name, bool needed) {
  known.push_back(name.str());
  const json::Value *field = fields.get(name);
  if (!field && needed)
    mistake("\"{0}{1}\" is missing", where, name);
  return field;
}

bool JsonFields::expectVersion(int64_t newest) {
  const json::Value *field = find("version", /*needed=*/true);
  std::optional<int64_t> found = field ? field->getAsInteger() : std::nullopt;
  bool known = found && *found >= 1 && *found <= newest;
  if (field && !known)
    mistake("has version {0}; this lwcc reads version{1} {2}", *field,
            newest > 1 ? "s 1 to" : "", newest);
  return known;
}

std::string JsonFields::text(llvm::StringRef name) {
  const json::Value *field = find(name, false);
  if (field && !field->getAsString())
    mistake("expected text for \"{0}{1}\", found {2}", where, name, *field);
  return field ? field->getAsString().value_or("").str() : "";
}

bool JsonFields::flag(llvm::StringRef name) {
  const json::Value *field = find(name, false);
  if (field && !field->getAsBoolean())
    mistake("expected true or false for \"{0}{1}\", found {2}", where, name,
            *field);
  return field && field->getAsBoolean().value_or(false);
}

int64_t JsonFields::count(llvm::StringRef name, int64_t absent, int64_t least,
                          int64_t most) {
  const json::Value *field = find(name, false);
  if (!field)
    return absent;
  std::optional<int64_t> value = field->getAsInteger();
  if (value && *value >= least && *value <= most)
    return *value;
  bool isLarge = value && *value > most;
  mistake("expected a number of at {0} {1} for \"{2}{3}\", found {4}",
          isLarge ? "most" : "least", isLarge ? most : least, where, name,
          *field);
  return absent;
}

double JsonFields::number(llvm::StringRef name, bool needed, double absent,
                          bool zero) {
  const json::Value *field = find(name, needed);
  if (!field)
    return absent;
  std::optional<double> value = field->getAsNumber();
  if (value && std::isfinite(*value) && (*value > 0 || (zero && *value == 0)))
    return *value;
  mistake("expected a number {0} for \"{1}{2}\", found {3}",
          zero ? "that is not negative" : "above 0", where, name, *field);
  return absent;
}

double JsonFields::positive(llvm::StringRef name) {
  return number(name, /*needed=*/true, 1, /*zero=*/false);
}
double JsonFields::positiveOr(llvm::StringRef name, double absent) {
  return number(name, false, absent, false);
}
double JsonFields::notNegative(llvm::StringRef name, double absent) {
  return number(name, false, absent, true);
}

const json::Object *JsonFields::members(llvm::StringRef name, bool needed) {
  const json::Value *field = find(name, needed);
  if (field && !field->getAsObject())
    mistake("expected an object for \"{0}{1}\", found {2}", where, name,
            *field);
  return field ? field->getAsObject() : nullptr;
}

std::optional<JsonFields> JsonFields::object(llvm::StringRef name,
                                             bool needed) {
  if (const json::Object *inner = members(name, needed))
    return JsonFields(*inner, where + name.str() + ".", mistakes);
  return std::nullopt;
}

void JsonFields::finish() {
  std::vector<llvm::StringRef> names(known.begin(), known.end());
  for (llvm::StringRef name : namesOf(fields))
    if (!llvm::is_contained(names, name))
      mistake("unknown field \"{0}{1}\"{2}", where, name,
              suggestion(name, names));
}

std::vector<std::string> lwcc::readFields(
    llvm::StringRef text,
    llvm::function_ref<void(JsonFields &, std::vector<std::string> &)> read) {
  std::vector<std::string> mistakes;
  json::Value value = nullptr;
  if (const json::Object *object = parseObject(text, value, mistakes)) {
    JsonFields fields(*object, "", mistakes);
    read(fields, mistakes);
  }
  return mistakes;
}

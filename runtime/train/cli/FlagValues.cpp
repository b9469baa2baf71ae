//===- FlagValues.cpp - Flags' values to and from text --------------------===//

#include "runtime/train/cli/FlagValues.h"

#include "runtime/train/files/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace lwcc::rt::train {

static std::string exactText(double value) {
  char buffer[64];
  return std::string(buffer,
                     std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

static std::string rangeText(const Flag &flag) {
  if (flag.low == std::numeric_limits<double>::min() && flag.high < noLimit)
    return " above 0, at most " + exactText(flag.high);
  if (flag.low > -noLimit && flag.high < noLimit)
    return " from " + exactText(flag.low) + " to " + exactText(flag.high);
  if (flag.low == std::numeric_limits<double>::min())
    return " above 0";
  return flag.low > -noLimit ? " of at least " + exactText(flag.low) : "";
}

std::string setFlag(Options &options, const Flag &flag,
                    const std::string &text) {
  auto inRange = [&](double value) {
    return std::isfinite(value) && value >= flag.low && value <= flag.high;
  };
  auto set = [&]<typename T>(T Options::*field) -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false")
        return "true or false";
      options.*field = text == "true";
    } else if constexpr (std::is_same_v<T, std::string>) {
      bool known = flag.choices.empty();
      std::string list;
      for (const std::string &choice : flag.choices) {
        known |= choice == text;
        list += (list.empty() ? "" : ", ") + choice;
      }
      if (!known)
        return "one of " + list;
      if (text.empty())
        return std::string("a ") + flag.value;
      options.*field = text;
    } else if constexpr (std::is_same_v<T, NumberList>) {
      NumberList values;
      for (size_t at = 0; at <= text.size();) {
        size_t comma = std::min(text.find(',', at), text.size());
        double value = 0;
        if (!parseNumber(std::string_view(text).substr(at, comma - at),
                         value) ||
            !inRange(value))
          return "numbers" + rangeText(flag) + ", separated by commas";
        values.push_back(value);
        at = comma + 1;
      }
      options.*field = values;
    } else {
      T value = 0;
      if (!parseNumber(text, value) || !inRange(double(value)))
        return (std::is_same_v<T, double> ? "a number" : "a whole number") +
               rangeText(flag);
      options.*field = value;
    }
    return "";
  };
  return std::visit(set, flag.field);
}

std::string textOf(const Options &options, const Flag &flag) {
  auto get = [&]<typename T>(T Options::*field) -> std::string {
    const T &value = options.*field;
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, NumberList>) {
      std::string list;
      for (double item : value)
        list += (list.empty() ? "" : ",") + exactText(item);
      return list;
    } else if constexpr (std::is_same_v<T, double>) {
      return exactText(value);
    } else {
      return std::to_string(value);
    }
  };
  return std::visit(get, flag.field);
}

bool isUnset(const std::string &text) { return text.empty() || text == "-1"; }

} // namespace lwcc::rt::train

//===- JsonReader.cpp - A strict reader of JSON ---------------------------===//
//
// nlohmann/json reads the text; here is what it would let pass: names that
// appear twice, values nested beyond any use, trees far larger than the text.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/files/Json.h"
#include "runtime/train/files/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_set>

namespace lwcc::rt::train {

/// Deeper than anything we read, and far from the end of the stack.
static constexpr size_t maxDepth = 64;
/// Of one tree, which takes 100 bytes for a value of two.
static constexpr int64_t maxValues = 1'000'000;

namespace {
/// Builds the tree of the text, or one after another those of its members.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
  using Visitor = std::function<void(const std::string &, Json &)>;
  Builder(const std::string &what, const Visitor *visit)
      : what(what), visit(visit) {}

  Json root;

  bool null() override { return scalar(Json::null); }
  bool boolean(bool truth) override {
    add(Json::boolean).truth = truth;
    return completed();
  }
  bool number_integer(int64_t value) override {
    return scalar(Json::number, std::to_string(value));
  }
  bool number_unsigned(uint64_t value) override {
    return scalar(Json::number, std::to_string(value));
  }
  bool number_float(double, const std::string &text) override {
    return scalar(Json::number, text);
  }
  bool string(std::string &text) override {
    return scalar(Json::string, std::move(text));
  }
  bool binary(nlohmann::json::binary_t &) override { return false; }

  bool start_object(size_t) override { return open(Json::object); }
  bool start_array(size_t) override { return open(Json::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string &name) override {
    if (!stack.back().names.insert(name).second)
      fail("the name '" + name.substr(0, 100) + "' appears twice");
    stack.back().value->items.emplace_back().name = std::move(name);
    return true;
  }

  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..."
    std::string_view reason = error.what();
    reason.remove_prefix(std::min(reason.find("] ") + 2, reason.size()));
    fail(reason.substr(0, 300));
  }

private:
  struct Open {
    Json *value;
    std::unordered_set<std::string> names;
  };

  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(what + ": not valid JSON: " + std::string(reason));
  }

  /// Where the next value goes. It stays there until it is complete.
  Json &add(Json::Kind kind) {
    if (visit && stack.empty() && kind != Json::object)
      throw Error(what + ": is no object");
    if (++values > maxValues)
      fail("more values than anything we read: " + countText(maxValues));
    Json *place = &root;
    if (!stack.empty()) {
      Json &parent = *stack.back().value;
      place = parent.kind == Json::object ? &parent.items.back()
                                          : &parent.items.emplace_back();
    }
    place->kind = kind;
    return *place;
  }
  bool scalar(Json::Kind kind, std::string text = "") {
    add(kind).text = std::move(text);
    return completed();
  }
  bool open(Json::Kind kind) {
    if (stack.size() == maxDepth)
      fail("nested too deeply");
    stack.push_back({&add(kind), {}});
    return true;
  }
  bool close() {
    stack.pop_back();
    return completed();
  }
  /// A value is whole.
  bool completed() {
    if (!visit || stack.size() != 1)
      return true;
    Json &value = root.items.back();
    (*visit)(value.name, value);
    root.items.clear();
    values = 0;
    return true;
  }

  const std::string &what;
  const Visitor *visit;
  std::vector<Open> stack;
  int64_t values = 0;
};
} // namespace

Json parseJson(std::string_view text, const std::string &what) {
  Builder builder(what, nullptr);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.root);
}

void visitJsonMembers(
    std::string_view text, const std::string &what,
    const std::function<void(const std::string &, Json &)> &visit) {
  Builder builder(what, &visit);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
}

std::string jsonQuote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

} // namespace lwcc::rt::train

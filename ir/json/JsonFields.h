//===- JsonFields.h - The fields of a JSON object ---------------*- C++ -*-===//
//
// Reads an object field by field and collects every mistake as a sentence that
// names the field: missing, of another kind, out of range, unknown.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_JSON_JSONFIELDS_H
#define LWCC_IR_JSON_JSONFIELDS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace lwcc {

class JsonFields {
public:
  /// `where` stands before the field's name in messages: "device.".
  JsonFields(const llvm::json::Object &fields, std::string where,
             std::vector<std::string> &mistakes)
      : fields(fields), where(std::move(where)), mistakes(mistakes) {}

  /// What no machine or batch has more of: products of some such numbers are
  /// still numbers.
  static constexpr int64_t most = int64_t(1) << 20;

  /// Whether it is of a version from 1 to `newest`.
  bool expectVersion(int64_t newest);
  std::string text(llvm::StringRef name); ///< "" if absent
  bool flag(llvm::StringRef name);        ///< false if absent
  int64_t count(llvm::StringRef name, int64_t absent, int64_t least = 1,
                int64_t most = JsonFields::most);
  double positive(llvm::StringRef name); ///< must be there
  double positiveOr(llvm::StringRef name, double absent);
  double notNegative(llvm::StringRef name, double absent);
  std::optional<JsonFields> object(llvm::StringRef name, bool needed);

  /// An object whose fields are names of the user's; null if absent.
  const llvm::json::Object *members(llvm::StringRef name, bool needed);

  /// Complains about fields that were not asked for.
  void finish();

private:
  const llvm::json::Value *find(llvm::StringRef name, bool needed);
  double number(llvm::StringRef name, bool needed, double absent, bool zero);
  template <typename... Args>
  void mistake(const char *format, Args &&...args) {
    mistakes.push_back(
        llvm::formatv(format, std::forward<Args>(args)...).str());
  }

  const llvm::json::Object &fields;
  std::string where;
  std::vector<std::string> &mistakes;
  std::vector<std::string> known;
};

/// Reads a text that is one object with `read`, which adds the mistakes that it
/// finds itself. All mistakes.
std::vector<std::string> readFields(
    llvm::StringRef text,
    llvm::function_ref<void(JsonFields &, std::vector<std::string> &mistakes)>
        read);

} // namespace lwcc

#endif // LWCC_IR_JSON_JSONFIELDS_H

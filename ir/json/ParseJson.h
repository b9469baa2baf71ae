//===- ParseJson.h - JSON from files ----------------------------*- C++ -*-===//
//
// The one way in which the compiler reads JSON, whoever wrote it. What files
// mean is their readers' business.
//
// The trainer reads JSON with the same parser, but not with this: what it links
// knows no LLVM, throws at the first mistake, keeps numbers as text, since they
// are hashes and seeds, and hands out the members of a header one by one
// (runtime/train/files/Json.h). Here all mistakes are collected, without
// exceptions, and the values are those that LLVM's writers take.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_JSON_PARSEJSON_H
#define LWCC_IR_JSON_PARSEJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace lwcc {

/// The value of a text. Mistakes are sentences that begin with the line and the
/// column: no JSON, a name twice in an object, a number that no double holds,
/// nesting deeper than `deepestJson`. Nothing if there is one.
std::optional<llvm::json::Value> parseJson(llvm::StringRef text,
                                           std::vector<std::string> &mistakes);
inline constexpr int deepestJson = 64;

/// The same of an object; null after a mistake.
const llvm::json::Object *parseObject(llvm::StringRef text,
                                      llvm::json::Value &value,
                                      std::vector<std::string> &mistakes);

/// The names of an object's fields. Objects have no order: these are sorted.
std::vector<llvm::StringRef> namesOf(const llvm::json::Object &object);

/// Text of ours as JSON has it: what is not UTF-8 in it is replaced.
llvm::json::Value jsonText(llvm::StringRef text);

} // namespace lwcc

#endif // LWCC_IR_JSON_PARSEJSON_H

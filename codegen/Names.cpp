//===- Names.cpp - C++ identifiers from ONNX names ------------------------===//

#include "codegen/Names.h"

#include "llvm/ADT/StringExtras.h"

using namespace lwcc;
using llvm::StringRef;

/// Keywords of C++20 and CUDA's reserved words; macros of the C library that
/// are lower-case.
static const StringRef keywords[] = {
    "alignas",   "alignof",   "and",          "and_eq",    "asm",
    "auto",      "bitand",    "bitor",        "bool",      "break",
    "case",      "catch",     "char",         "char16_t",  "char32_t",
    "char8_t",   "class",     "co_await",     "co_return", "co_yield",
    "compl",     "concept",   "const",        "const_cast", "consteval",
    "constexpr", "constinit", "continue",     "decltype",  "default",
    "delete",    "do",        "double",       "dynamic_cast", "else",
    "enum",      "explicit",  "export",       "extern",    "false",
    "float",     "for",       "friend",       "goto",      "if",
    "inline",    "int",       "long",         "mutable",   "namespace",
    "new",       "noexcept",  "not",          "not_eq",    "nullptr",
    "operator",  "or",        "or_eq",        "private",   "protected",
    "public",    "register",  "reinterpret_cast", "requires", "return",
    "short",     "signed",    "sizeof",       "static",    "static_assert",
    "static_cast", "struct",  "switch",       "template",  "this",
    "thread_local", "throw",  "true",         "try",       "typedef",
    "typeid",    "typename",  "union",        "unsigned",  "using",
    "virtual",   "void",      "volatile",     "wchar_t",   "while",
    "xor",       "xor_eq",    "assert",       "errno",     "stdin",
    "stdout",    "stderr",    "linux",        "unix",      "signbit"};

std::string lwcc::sanitizeName(StringRef name) {
  std::string result;
  for (char c : name) {
    bool legal = llvm::isAlnum(c) || c == '_';
    // A run of separators ("::", "/.") becomes one underscore: identifiers
    // with two are reserved.
    char next = legal ? c : '_';
    if (next == '_' && !result.empty() && result.back() == '_')
      continue;
    result += next;
  }
  while (result.size() > 1 && result.back() == '_')
    result.pop_back();
  if (result.size() > 1 && result.front() == '_' && !llvm::isDigit(result[1]))
    result.erase(0, 1);
  if (result.empty() || result == "_")
    return "unnamed";
  if (llvm::isDigit(result.front()))
    result.insert(0, "_");
  return result;
}

NameTable::NameTable(llvm::ArrayRef<StringRef> reserved) {
  for (StringRef word : keywords)
    taken.insert(word);
  for (StringRef word : reserved)
    taken.insert(word);
}

const std::string &NameTable::get(StringRef name) {
  auto [entry, isNew] = names.try_emplace(name);
  if (!isNew)
    return entry->second;
  std::string base = sanitizeName(name), candidate = base;
  for (unsigned n = 2; !taken.insert(candidate).second; ++n)
    candidate = base + "_" + std::to_string(n);
  return entry->second = candidate;
}

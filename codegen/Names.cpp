//===- Names.cpp - C++ identifiers from ONNX names ------------------------===//

#include "codegen/Names.h"

#include "llvm/ADT/StringExtras.h"

using namespace lwcc;
using llvm::StringRef;

/// Keywords of C++20, the words of the emitted text, and macros of the C
/// library and of compilers that look like names of tensors. Other macros are
/// recognized by their form (looksLikeMacro).
static const StringRef keywords[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
    "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t",
    "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept",
    "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true",
    "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    // The struct of a device and the functions over it.
    "Device", "DeviceMemory", "Dims", "Gpus", "Lane", "Machine", "Program",
    "StepScalars", "Tensor", "Tensors", "arena", "each", "everybody",
    "everyDevice", "f32", "i", "i32", "int64_t", "k", "kernels", "lwcc", "m",
    "machine", "main", "others", "part", "rows", "rt", "std", "u8", "uint64_t",
    "view",
    // Macros.
    "assert", "complex", "d_fileno", "d_ino", "direct", "errno", "h_addr",
    "h_errno", "i386", "linux", "major", "makedev", "math_errhandling", "minor",
    "no_argument", "optional_argument", "required_argument", "s6_addr",
    "sa_handler", "sa_sigaction", "sched_priority", "si_addr", "si_band",
    "si_fd", "si_int", "si_pid", "si_ptr", "si_status", "si_uid", "si_value",
    "signbit", "ss_name", "st_atime", "st_ctime", "st_mtime", "stderr", "stdin",
    "stdout", "unix"};

/// Whether a name has the form of a macro or of one of the emitted text's own
/// tables: NULL, INT64_MAX, M_PIf, PRId64, cudaStreamDefault, table7.
static bool looksLikeMacro(StringRef name) {
  StringRef capitals = name.take_while(
      [](char c) { return llvm::isUpper(c) || llvm::isDigit(c); });
  bool hasCapital = llvm::any_of(capitals, llvm::isUpper);
  bool isShouted =
      hasCapital && (capitals == name || name[capitals.size()] == '_' ||
                     capitals.take_while(llvm::isUpper).size() > 2);
  StringRef number = name;
  bool isTable = number.consume_front("table") && !number.empty() &&
                 llvm::all_of(number, llvm::isDigit);
  return isShouted || isTable || name.starts_with("cuda");
}

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
  // Longer names help no reader. What differs behind this gets a number.
  constexpr size_t most = 96;
  return StringRef(result).take_front(most).rtrim('_').str();
}

NameTable::NameTable(llvm::ArrayRef<StringRef> reserved) {
  for (StringRef word : keywords)
    this->reserved.insert(word);
  for (StringRef word : reserved)
    this->reserved.insert(word);
}

std::string NameTable::fresh(StringRef name) {
  const std::string base = sanitizeName(name);
  unsigned &number = numbers[base];
  while (true) {
    std::string candidate = base;
    if (++number > 1)
      candidate += "_" + std::to_string(number);
    // With the underscore it is neither a macro nor the identifier of another
    // name.
    if (looksLikeMacro(candidate) || reserved.contains(candidate))
      candidate += "_";
    if (taken.insert(candidate).second)
      return candidate;
  }
}

const std::string &NameTable::get(StringRef name) {
  auto [entry, isNew] = names.try_emplace(name);
  if (isNew)
    entry->second = fresh(name);
  return entry->second;
}

//===- Names.h - C++ identifiers from ONNX names ----------------*- C++ -*-===//
//
// One table per scope: legal, unique, never a keyword, a macro or a name that
// the emitted text needs, and the same for the same input. Names that could be
// one of those end in an underscore, as no other does.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_NAMES_H
#define LWCC_CODEGEN_NAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace lwcc {

/// "conv1/out:0" -> "conv1_out_0", "2d" -> "_2d"; not longer than a line or so.
std::string sanitizeName(llvm::StringRef name);

class NameTable {
public:
  /// Names in `reserved` are never given out.
  explicit NameTable(llvm::ArrayRef<llvm::StringRef> reserved = {});
  /// The identifier of `name`: on first request a new one.
  const std::string &get(llvm::StringRef name);
  /// Another identifier for it with each request.
  std::string fresh(llvm::StringRef name);

private:
  llvm::StringMap<std::string> names;
  llvm::StringMap<unsigned> numbers; ///< given out, by sanitized name
  llvm::StringSet<> taken, reserved;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_NAMES_H

//===- Names.h - C++ identifiers from ONNX names ----------------*- C++ -*-===//
//
// One table per scope: legal, unique, never a keyword or a name the runtime
// needs, and the same for the same input.
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

/// "conv1/out:0" -> "conv1_out_0", "2d" -> "_2d".
std::string sanitizeName(llvm::StringRef name);

class NameTable {
public:
  /// Names in `reserved` are never given out.
  explicit NameTable(llvm::ArrayRef<llvm::StringRef> reserved = {});
  /// The identifier of `name`: on first request a new one.
  const std::string &get(llvm::StringRef name);

private:
  llvm::StringMap<std::string> names;
  llvm::StringSet<> taken;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_NAMES_H

//===- Names.h - C++ identifiers from ONNX names ----------------*- C++ -*-===//
//
// Makes C++ identifiers from ONNX names. A NameTable is the names of one scope.
// Its identifiers are unique, and none is a keyword, a macro or a name that the
// emitted text itself uses: one that could be gets an underscore at its end,
// where no other has one. The same input gives the same names.
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
  /// No identifier will be one of `reserved`.
  explicit NameTable(llvm::ArrayRef<llvm::StringRef> reserved = {});
  /// The identifier of `name`: the same one with each request.
  const std::string &get(llvm::StringRef name);
  /// A new identifier for `name` with each request.
  std::string fresh(llvm::StringRef name);

private:
  llvm::StringMap<std::string> names;
  llvm::StringMap<unsigned>
      numbers; ///< of the last identifier, by sanitized name
  llvm::StringSet<> taken, reserved;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_NAMES_H

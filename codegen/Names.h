//===- Names.h - C++ identifiers from ONNX names ----------------*- C++ -*-===//
//
// Makes C++ identifiers of ONNX names. A NameTable holds the identifiers of one
// scope: they are unique, and none is a keyword, a macro or a name that the
// emitted text uses itself. A name that could collide gets an underscore at its
// end, which no other identifier has. Deterministic.
//
// The symbols that are turned into identifiers come from
// passes/schedule/Names.h.
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

/// Replaces what an identifier cannot have: "conv1/out:0" -> "conv1_out_0",
/// "2d" -> "_2d". Long names are cut.
std::string sanitizeName(llvm::StringRef name);

/// The identifiers of one scope.
class NameTable {
public:
  /// `reserved` are names that no identifier may have.
  explicit NameTable(llvm::ArrayRef<llvm::StringRef> reserved = {});
  /// The identifier of `name`, the same one at each request.
  const std::string &get(llvm::StringRef name);
  /// A new identifier for `name` at each request.
  std::string fresh(llvm::StringRef name);

private:
  llvm::StringMap<std::string> names;
  llvm::StringMap<unsigned>
      numbers; ///< of the last identifier, by sanitized name
  llvm::StringSet<> taken, reserved;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_NAMES_H

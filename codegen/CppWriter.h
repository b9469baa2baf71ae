//===- CppWriter.h - Lines of C++ in LLVM style -----------------*- C++ -*-===//
//
// Writes C++ text with indentation, and wraps comments and calls at 80 columns
// as clang-format would. Knows the layout of C++ and nothing of the IR.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_CPPWRITER_H
#define LWCC_CODEGEN_CPPWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace lwcc {

/// An argument of a call: plain text, or a braced list that may be broken
/// between its items.
struct CppArgument {
  std::string text;               ///< plain argument; "{}" for an empty list
  std::vector<std::string> items; ///< `{item, item}`

  CppArgument(std::string text) : text(std::move(text)) {}
  CppArgument(std::vector<std::string> items)
      : text("{}"), items(std::move(items)) {}
  std::string flat() const;
};

/// A text under construction, line by line.
class CppWriter {
public:
  /// Writes a line of text at the current indentation; a blank line for an
  /// empty text.
  void line(llvm::StringRef text = "");
  /// Writes `// text` with its words wrapped; a bare `//` for an empty text.
  /// Escapes what could end the comment: control characters and backslashes
  /// become \x escapes.
  void comment(llvm::StringRef text);
  /// Writes `//===- text ---===//` over the full width.
  void banner(llvm::StringRef text);
  void ruler();
  /// Writes `callee(arguments);`.
  void call(llvm::StringRef callee, llvm::ArrayRef<CppArgument> arguments);

  /// Writes `head(arguments) {`.
  void signature(llvm::StringRef head, llvm::ArrayRef<CppArgument> arguments);
  /// Writes `{item, item},`, a row of a table.
  void row(llvm::ArrayRef<std::string> items);
  /// Writes `name = value;`, the value on a line of its own if it does not fit.
  void assignment(llvm::StringRef name, llvm::StringRef value);
  /// Writes `name = callee(arguments);`, the call on lines of its own if it
  /// does not fit.
  void initialization(llvm::StringRef name, llvm::StringRef callee,
                      llvm::ArrayRef<CppArgument> arguments);
  /// Writes `name = head { return expression; });`, in two or more lines if it
  /// does not fit.
  void lambda(llvm::StringRef name, llvm::StringRef head,
              llvm::StringRef expression);
  /// Writes `head {item, item, ...};` with as many items on a line as fit. This
  /// is the one layout that is not clang-format's.
  void table(llvm::StringRef head, llvm::ArrayRef<std::string> items);
  /// Writes `return expression;`, broken at spaces if it does not fit.
  void returns(llvm::StringRef expression);

  void indent() { depth += 2; }
  void dedent() { depth -= 2; }

  /// Appends the lines of another writer.
  void append(llvm::StringRef lines) { text += lines; }
  std::string take() { return std::move(text); }

private:
  void wrapped(llvm::StringRef words);
  void list(llvm::StringRef head, llvm::ArrayRef<CppArgument> arguments,
            llvm::StringRef close);

  std::string text;
  unsigned depth = 0;
};

/// A C++ string literal of the text.
std::string quoted(llvm::StringRef text);

} // namespace lwcc

#endif // LWCC_CODEGEN_CPPWRITER_H

//===- CppWriter.h - Lines of C++ in LLVM style -----------------*- C++ -*-===//
//
// Text with indentation, comments and calls wrapped at 80 columns the way
// clang-format would. Knows C++ layout, nothing of the IR.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_CPPWRITER_H
#define LWCC_CODEGEN_CPPWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace lwcc {

/// One argument of a call: plain text, or a braced list whose items may be put
/// one per line when the list does not fit.
struct CppArgument {
  std::string text;               ///< plain argument; "{}" for an empty list
  std::vector<std::string> items; ///< `{item, item}`

  CppArgument(std::string text) : text(std::move(text)) {}
  CppArgument(std::vector<std::string> items)
      : text("{}"), items(std::move(items)) {}
  std::string flat() const;
};

class CppWriter {
public:
  /// `text` at the current indentation, as it is; empty for a blank line.
  void line(llvm::StringRef text = "");
  /// `// text`, words wrapped. An empty text gives a bare `//`. Nothing in a
  /// text ends the comment; control characters and backslashes are \x escapes.
  void comment(llvm::StringRef text);
  /// `//===- text ---===//` over the full width.
  void banner(llvm::StringRef text);
  void ruler();
  /// `callee(arguments);`
  void call(llvm::StringRef callee, llvm::ArrayRef<CppArgument> arguments);

  /// `head(arguments) {`
  void signature(llvm::StringRef head, llvm::ArrayRef<CppArgument> arguments);
  /// `{item, item},`: a row of a table.
  void row(llvm::ArrayRef<std::string> items);
  /// `name = value;`, the value on a line of its own if it does not fit.
  void assignment(llvm::StringRef name, llvm::StringRef value);
  /// `name = head { return expression; });`, in two or more lines if it does
  /// not fit.
  void lambda(llvm::StringRef name, llvm::StringRef head,
              llvm::StringRef expression);
  /// `head {1, 2, ...};`, as many on a line as fit; not as clang-format does
  /// it.
  void table(llvm::StringRef head, llvm::ArrayRef<int64_t> numbers);
  /// `return expression;`, broken at spaces where it does not fit.
  void returns(llvm::StringRef expression);

  void indent() { depth += 2; }
  void dedent() { depth -= 2; }

  /// Lines that another writer made.
  void append(llvm::StringRef lines) { text += lines; }
  std::string take() { return std::move(text); }

private:
  void wrapped(llvm::StringRef words);
  void list(llvm::StringRef head, llvm::ArrayRef<CppArgument> arguments,
            llvm::StringRef close);

  std::string text;
  unsigned depth = 0;
};

/// A C++ string literal with escapes.
std::string quoted(llvm::StringRef text);

} // namespace lwcc

#endif // LWCC_CODEGEN_CPPWRITER_H

//===- Phrase.h - Text whose numbers are kept apart -------------*- C++ -*-===//
//
// A Phrase is the text of a statement without its numbers, and the numbers.
// Statements.h makes the phrases of every device. If those of several devices
// or micro-batches have the same shape, EmitFunction.cpp prints the text once,
// with each number as an expression of the device's index and the micro-batch.
//
// Does not know what the numbers mean, nor how expressions are found
// (Expressions.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PHRASE_H
#define LWCC_CODEGEN_PHRASE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace lwcc {

/// Text with numbers in it, kept apart.
class Phrase {
public:
  Phrase(llvm::StringRef text = "") { *this << text; }
  Phrase &operator<<(llvm::StringRef text);
  Phrase &operator<<(int64_t number);
  Phrase &operator<<(const Phrase &other);

  /// The text with a mark for each number: equal shapes differ in numbers only.
  const std::string &shape() const { return text; }
  llvm::ArrayRef<int64_t> numbers() const { return values; }
  /// The text with expressions in place of its numbers.
  std::string with(llvm::ArrayRef<std::string> expressions) const;

private:
  static constexpr char mark = '\1';
  std::string text;
  std::vector<int64_t> values;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_PHRASE_H

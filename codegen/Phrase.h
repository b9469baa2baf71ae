//===- Phrase.h - Text with numbers that devices differ in ------*- C++ -*-===//
//
// A Phrase is the text of a statement with the numbers in it kept apart.
// Statements.h makes one for each device. Where the texts of several devices
// are equal, EmitSequence prints the statement once, with each number as an
// expression of the device's index: a constant, a linear function, a function
// of two linear pieces, or a table. What the numbers mean is not known here.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PHRASE_H
#define LWCC_CODEGEN_PHRASE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace lwcc {

/// The tables that expressions look numbers up in; equal ones are shared.
class NumberTables {
public:
  /// The name of the table with these numbers.
  const std::string &nameOf(const std::vector<int64_t> &numbers);
  /// In the order of their first use.
  const std::vector<std::pair<std::string, std::vector<int64_t>>> &all() const {
    return tables;
  }

private:
  std::map<std::vector<int64_t>, size_t> known;
  std::vector<std::pair<std::string, std::vector<int64_t>>> tables;
};

/// A C++ expression over `variable` that has the value values[n] where
/// `variable` is at[n]. `at` is ascending.
std::string expressionFor(llvm::StringRef variable, llvm::ArrayRef<int64_t> at,
                          llvm::ArrayRef<int64_t> values, NumberTables &tables);

/// The same over the variables "i" and "k": the value is values[n] where they
/// are atI[n] and atK[n]. All k are below `count`.
std::string expressionFor(llvm::ArrayRef<int64_t> atI,
                          llvm::ArrayRef<int64_t> atK,
                          llvm::ArrayRef<int64_t> values, int64_t count,
                          NumberTables &tables);

/// Text with numbers in it.
class Phrase {
public:
  Phrase(llvm::StringRef text = "") { *this << text; }
  Phrase &operator<<(llvm::StringRef text);
  Phrase &operator<<(int64_t number);
  Phrase &operator<<(const Phrase &other);

  /// The text, with a mark in place of each number.
  const std::string &shape() const { return text; }
  llvm::ArrayRef<int64_t> numbers() const { return values; }
  /// The text with these expressions in place of the numbers.
  std::string with(llvm::ArrayRef<std::string> expressions) const;

private:
  static constexpr char mark = '\1';
  std::string text;
  std::vector<int64_t> values;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_PHRASE_H

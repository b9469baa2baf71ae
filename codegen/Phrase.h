//===- Phrase.h - Text with numbers that devices differ in ------*- C++ -*-===//
//
// What a statement says for one device is text and numbers. Where the texts of
// several devices are equal, the statement is printed once, each number as an
// expression of the device's number: a constant, a line, two lines that meet,
// or a table. Nothing is known here of what the numbers mean.
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

/// Tables of numbers that the expressions look up, by what is in them.
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

/// A C++ expression over `variable` that is values[n] where it is at[n]; `at`
/// ascends.
std::string expressionFor(llvm::StringRef variable, llvm::ArrayRef<int64_t> at,
                          llvm::ArrayRef<int64_t> values, NumberTables &tables);

/// The same over "i" and "k": values[n] where they are atI[n] and atK[n].
/// `count` is above all k.
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

//===- Phrase.h - Text whose numbers are kept apart -------------*- C++ -*-===//
//
// A Phrase is the text of a statement without its numbers, and the numbers.
// Statements.h makes the phrases of every device. If those of several devices
// or micro-batches have the same shape, EmitFunction.cpp prints the text once,
// with each number as an expression of the device's index and the micro-batch:
// a constant, a linear function, two linear pieces, or a look-up in a table.
//
// Decides which of these expressions is taken: the first that fits. Does not
// know what the numbers mean.
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

/// The constant tables in which expressions look numbers up. Equal tables are
/// shared.
class NumberTables {
public:
  /// The name of the table with these numbers, which is made if there is none.
  const std::string &nameOf(const std::vector<int64_t> &numbers);
  /// The tables, in the order of their first use.
  const std::vector<std::pair<std::string, std::vector<int64_t>>> &all() const {
    return tables;
  }

private:
  std::map<std::vector<int64_t>, size_t> known;
  std::vector<std::pair<std::string, std::vector<int64_t>>> tables;
};

/// A variable of the emitted text, and its value at each of some points.
struct Variable {
  llvm::StringRef name;
  int64_t count; ///< all values are below it
  std::vector<int64_t> at;
};

/// A C++ expression over the variables that is values[n] at point n. Tables are
/// laid out with the first variable outermost.
std::string expressionFor(llvm::ArrayRef<Variable> variables,
                          llvm::ArrayRef<int64_t> values, NumberTables &tables);

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

//===- Expressions.h - Numbers as C++ expressions ---------------*- C++ -*-===//
//
// Finds expressions for numbers that differ between devices or micro-batches,
// over the variables of the emitted text: a constant, a linear function, two
// linear pieces, one period of a table, or a look-up in a whole one.
//
// Decides which of these is taken: the first that fits. Does not know what the
// numbers mean.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EXPRESSIONS_H
#define LWCC_CODEGEN_EXPRESSIONS_H

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

/// A C++ condition over the variables that holds at the points whose flag is 1,
/// which are some of all.
std::string conditionFor(llvm::ArrayRef<Variable> variables,
                         llvm::ArrayRef<int64_t> flags, NumberTables &tables);

} // namespace lwcc

#endif // LWCC_CODEGEN_EXPRESSIONS_H

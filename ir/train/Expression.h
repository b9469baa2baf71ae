//===- Expression.h - The language of elementwise kernels -------*- C++ -*-===//
//
// Float expressions over x0, x1, ..., a subset of C++ so that an expression is
// printed into the emitted program as it stands:
//
//   e := literal | x<N> | -e | e (+ - * /) e | e (< <= > >= == !=) e
//      | e && e | e || e | e ? e : e | f(e, ...) | (e)
//   f := abs exp log sqrt tanh erf pow floor min max sigmoid dropout_mask
//
// Literals are C++ float literals ("0.5f", "1e-5f"), INFINITY or NAN. A
// comparison may stand only as the condition of ?: or under && and ||. min and
// max follow PyTorch's clamp with NaN: a NaN operand wins. dropout_mask(ratio,
// stream) is the mask of runtime/core/Philox.h for the element at hand; stream
// is "123u".
//
// Decides nothing: parsing, printing with minimal parentheses, and the
// substitution that fusion needs. Evaluation lives in tools/lwcc-run.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_EXPRESSION_H
#define LWCC_IR_TRAIN_EXPRESSION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lwcc {

struct Expression {
  enum class Kind { literal, stream, input, unary, binary, select, call };
  Kind kind = Kind::literal;
  double value = 0;    ///< literal: exactly a float
  uint32_t stream = 0; ///< stream
  unsigned input = 0;  ///< input: N of xN
  std::string op;      ///< unary "-"; binary "+", "<", ...; call: function
  std::vector<Expression> args;

  /// Errors name the position and what was expected. `resolve` may give a
  /// meaning to names that are not in the language (dy, a row's parameters).
  using Resolver =
      llvm::function_ref<std::optional<Expression>(llvm::StringRef)>;
  static llvm::Expected<Expression> parse(llvm::StringRef text,
                                          Resolver resolve = nullptr);
  static Expression literalOf(double value);
  static Expression inputOf(unsigned input);

  bool operator==(const Expression &other) const;

  /// C++ text that parses back to an equal expression.
  std::string print() const;

  /// One past the largest input index used, 0 if none.
  unsigned inputs() const;
  bool uses(unsigned input) const;
  bool usesDropout() const;
  /// Operators and calls: what fusion weighs against recomputation.
  unsigned operations() const;

  /// Replaces every xN by replacement[N].
  Expression substitute(llvm::ArrayRef<Expression> replacement) const;
};

/// Shortest decimal text that reads back as the same float, with suffix f.
std::string floatLiteral(float value);

} // namespace lwcc

#endif // LWCC_IR_TRAIN_EXPRESSION_H

//===- Expression.h - The language of elementwise kernels -------*- C++ -*-===//
//
// Float expressions over x0, x1, ..., a subset of C++ so that an expression is
// printed into the emitted program as it stands:
//
//   e := literal | x<N> | -e | e (+ - * /) e | e (< <= > >= == !=) e
//      | e && e | e || e | e ? e : e | f(e, ...) | (e)
//   f := abs exp log sqrt tanh erf pow fmod min max floor round sigmoid
//      sin cos tan asin acos atan sinh cosh asinh acosh atanh dropout_mask
//      random_uniform random_normal
//
// round goes to the nearest integer, of two to the even one.
// Literals are C++ float literals ("0.5f", "1e-5f"), INFINITY or NAN. A
// comparison may stand only as the condition of ?: or under && and ||. min and
// max follow PyTorch's clamp with NaN: a NaN operand wins. dropout_mask(ratio,
// stream), random_uniform(stream) and random_normal(stream) are those of
// runtime/core/Philox.h for the element at hand; stream is "123u".
//
// Parses, prints with minimal parentheses, and substitutes (for fusion).
// Simplifies nothing: an expression computes what was written, in that order.
// Does not evaluate: the emitted C++ and tools/lwcc-run do.
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

/// A node of an expression tree. `kind` says which of the other fields count.
struct Expression {
  enum class Kind { literal, stream, input, unary, binary, select, call };
  Kind kind = Kind::literal;
  double value = 0;    ///< literal: exactly a float
  uint32_t stream = 0; ///< stream
  unsigned input = 0;  ///< input: N of xN
  std::string op;      ///< unary "-"; binary "+", "<", ...; call: function
  std::vector<Expression> args;

  /// Parses a text; an error names the position and what was expected.
  /// `resolve` gives meaning to words outside the language: `dy`, or the
  /// parameters of a row of the elementwise table.
  using Resolver =
      llvm::function_ref<std::optional<Expression>(llvm::StringRef)>;
  static llvm::Expected<Expression> parse(llvm::StringRef text,
                                          Resolver resolve = nullptr);
  /// Of the functions f.
  static std::vector<llvm::StringRef> functionNames();
  /// Of those that draw random numbers.
  static llvm::ArrayRef<llvm::StringLiteral> randomFunctions();
  static Expression literalOf(double value);
  static Expression inputOf(unsigned input);

  bool operator==(const Expression &other) const;

  /// C++ text that parses back to an equal expression.
  std::string print() const;

  /// One more than the largest input index that occurs; 0 without inputs.
  unsigned inputs() const;
  bool uses(unsigned input) const;
  /// Whether it is a call that draws a random number, whether it has one in it,
  /// and whether that is a dropout's mask.
  bool isRandomCall() const;
  bool drawsRandomNumbers() const;
  bool usesDropout() const;
  /// Number of operators and calls. Fusion (passes/differentiate) weighs it
  /// against recomputation.
  unsigned operations() const;

  /// Replaces every xN by replacement[N].
  Expression substitute(llvm::ArrayRef<Expression> replacement) const;
};

/// The shortest decimal text that reads back as the same float, with suffix f.
std::string floatLiteral(float value);

} // namespace lwcc

#endif // LWCC_IR_TRAIN_EXPRESSION_H

//===- ExpressionSyntax.h - What parser and printer agree on ----*- C++ -*-===//
//
// Private to Expression.cpp and ExpressionParser.cpp: how strongly operators
// bind, and the functions that are more than arithmetic. The grammar is in
// Expression.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_EXPRESSIONSYNTAX_H
#define LWCC_IR_TRAIN_EXPRESSIONSYNTAX_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc::syntax {

/// Functions that draw random numbers. Their last argument is the stream.
inline constexpr llvm::StringLiteral dropoutMask = "dropout_mask";
inline constexpr llvm::StringLiteral randomUniform = "random_uniform";
inline constexpr llvm::StringLiteral randomNormal = "random_normal";
inline constexpr llvm::StringLiteral randomFunctions[] = {
    dropoutMask, randomUniform, randomNormal};
inline bool isRandom(llvm::StringRef function) {
  return llvm::is_contained(randomFunctions, function);
}

/// C++ precedence of a binary operator, 0 if `op` is none.
inline int precedenceOf(llvm::StringRef op) {
  if (op == "||")
    return 1;
  if (op == "&&")
    return 2;
  if (op == "==" || op == "!=")
    return 3;
  if (op == "<" || op == "<=" || op == ">" || op == ">=")
    return 4;
  if (op == "+" || op == "-")
    return 5;
  if (op == "*" || op == "/")
    return 6;
  return 0;
}

} // namespace lwcc::syntax

#endif // LWCC_IR_TRAIN_EXPRESSIONSYNTAX_H

//===- WholeNumbers.h - Integers and booleans that data makes ---*- C++ -*-===//
//
// All values of a program are float32, which has all integers up to 2^24. What
// is an integer or a boolean in the file is a whole float in the program. This
// decides where the difference would show: which operators give another result
// for integers than for floats, and whose results are whole.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_WHOLENUMBERS_H
#define LWCC_FRONTEND_WHOLENUMBERS_H

#include "frontend/NodeView.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace lwcc {

/// Every whole number below it is a float32: the most rows of a table, and the
/// most tokens.
inline constexpr int64_t mostWhole = 1 << 24;

/// Whether integers give what floats give, as long as both are exact. A
/// quotient of integers is cut off, for example.
bool isSameOfIntegers(llvm::StringRef op);

/// Whether an output of a node is integers or booleans. `isWhole(i)` says it of
/// input i.
bool makesWhole(const NodeView &node, unsigned output,
                llvm::function_ref<bool(int)> isWhole);

} // namespace lwcc

#endif // LWCC_FRONTEND_WHOLENUMBERS_H

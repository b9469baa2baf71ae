//===- Interpreter.h - Elementwise kernels without a compiler ---*- C++ -*-===//
//
// Evaluates the expression of an exec.kernel block by block, with the very
// functions (runtime/core/Math.h) and roundings of the emitted kernel.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_RUN_INTERPRETER_H
#define LWCC_TOOLS_RUN_INTERPRETER_H

#include "ir/train/Expression.h"
#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"

namespace lwcc {

/// What map<F> appends for a generated kernel F with this expression.
void appendMap(rt::Lane &lane, const Expression &expression, rt::Tensor y,
               const rt::Tensors &xs, rt::Tensor scalars,
               const rt::MapParams &params);

} // namespace lwcc

#endif // LWCC_TOOLS_RUN_INTERPRETER_H

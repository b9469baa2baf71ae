//===- Passes.h - All passes of the compiler --------------------*- C++ -*-===//
//
// Declarations made from Passes.td: create functions, options, registration.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PASSES_H
#define LWCC_PASSES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace lwcc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace lwcc

#endif // LWCC_PASSES_PASSES_H

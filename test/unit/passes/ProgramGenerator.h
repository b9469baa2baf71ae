//===- ProgramGenerator.h - Random exec programs ----------------*- C++ -*-===//
//
// Generates random exec programs for the tests of the schedule verifier. They
// run on several devices and lanes and have every kind of operand (parameters
// in copies and parts, views, windows, scalars, labels), movements, kernels
// that draw random numbers, updates in place, and memory that can be reused.
// Every computed value reaches a buffer that the trainer reads, so that any
// damage can be observed there.
//
// The compiler's own passes add events and offsets. Movements and elementwise
// kernels get tensors of fitting extents; other calls get any.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H
#define LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H

#include "ir/exec/Exec.h"

namespace lwcc::test {

/// A program; null if the compiler's passes fail. With `onlyMovements` it can
/// be executed by lwcc-run: it moves elements of parameters, and numbers, to
/// results of their own.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext *context,
                                                  unsigned seed,
                                                  bool onlyMovements = false);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H

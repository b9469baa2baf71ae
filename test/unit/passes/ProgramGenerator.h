//===- ProgramGenerator.h - Random exec programs ----------------*- C++ -*-===//
//
// For the tests of the schedule verifier: programs over several devices and
// lanes with every kind of operand (parameters in copies and in parts, views,
// windows, scalars, labels), movements, kernels that draw random numbers,
// updates in place and memory worth reusing. All that is computed ends in what
// the trainer reads, so that a damage anywhere can be seen there.
//
// The compiler adds the events and the offsets. The extents of movements and
// elementwise kernels are right; a call of anything else takes any tensors.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H
#define LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H

#include "ir/exec/Exec.h"

namespace lwcc::test {

/// Null if the compiler fails. A program of `onlyMovements` can be run: it
/// moves elements of the parameters, and numbers, to results of their own.
mlir::OwningOpRef<mlir::ModuleOp> generateProgram(mlir::MLIRContext *context,
                                                  unsigned seed,
                                                  bool onlyMovements = false);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_PROGRAMGENERATOR_H

//===- EmitFunction.h - One function for a group ----------------*- C++ -*-===//
//
// Prints the statements of a group of devices and micro-batches as one function
// of the device's number `i` and the micro-batch's `m`. A number in which the
// members of the group differ becomes an expression of these (Expressions.h).
// Waits and records that only some of them have are printed under an `if`.
//
// Does not decide what forms a group (Groups.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITFUNCTION_H
#define LWCC_CODEGEN_EMITFUNCTION_H

#include "codegen/Expressions.h"
#include "codegen/Groups.h"

namespace lwcc {

/// Prints a group's function. With `usesMachine` it takes the machine as an
/// argument, for its events.
void emitFunction(const std::string &name, const std::string &comment,
                  const Group &group, bool usesMachine,
                  const ProgramNames &names, NumberTables &tables,
                  CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITFUNCTION_H

//===- EmitFunction.h - One function for a group of devices -----*- C++ -*-===//
//
// Prints the statements of a group of devices as one function of the device's
// number `i`. A number in which the devices differ becomes an expression of `i`
// (Phrase.h). Waits and records that only some of the devices have are printed
// under an `if`.
//
// Does not decide which devices form a group (EmitSequence.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITFUNCTION_H
#define LWCC_CODEGEN_EMITFUNCTION_H

#include "codegen/Statements.h"

namespace lwcc {

/// The waits and records in front of a call, or behind the last. Devices of a
/// group may differ in these.
using Gap = std::vector<Statement>;

/// Devices whose calls differ in numbers only, and their statements: gaps[d][n]
/// stands in front of calls[d][n].
struct Group {
  std::vector<int64_t> devices;
  std::vector<std::vector<Statement>> calls; ///< by device of the group
  std::vector<std::vector<Gap>> gaps;        ///< one more than calls
};

/// Prints a group's function. With `usesMachine` it takes the machine as an
/// argument, for its events.
void emitFunction(const std::string &name, const std::string &comment,
                  const Group &group, bool usesMachine,
                  const ProgramNames &names, NumberTables &tables,
                  CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITFUNCTION_H

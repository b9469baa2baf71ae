//===- EmitFunction.h - One function for devices that do alike --*- C++ -*-===//
//
// Prints statements of several devices as one function of the device's number
// `i`. Which devices do alike is the business of EmitSequence.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_EMITFUNCTION_H
#define LWCC_CODEGEN_EMITFUNCTION_H

#include "codegen/Statements.h"

namespace lwcc {

/// What stands before one call, or behind the last: waits and records, in which
/// devices may differ that otherwise do the same.
using Gap = std::vector<Statement>;

/// Devices that do the same, and what: gaps[d][n] stands before calls[d][n].
struct Group {
  std::vector<int64_t> devices;
  std::vector<std::vector<Statement>> calls; ///< by device of the group
  std::vector<std::vector<Gap>> gaps;        ///< one more
};

/// `usesMachine`: the function takes the machine, for its events.
void emitFunction(const std::string &name, const std::string &comment,
                  const Group &group, bool usesMachine,
                  const ProgramNames &names, NumberTables &tables,
                  CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_EMITFUNCTION_H

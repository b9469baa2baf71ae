//===- Mutants.h - Ways to damage an exec program ---------------*- C++ -*-===//
//
// For the tests of the schedule verifier. A kind of damage can be done at
// several sites of a program; what is left open (which other buffer, which
// other place) is drawn by chance. A mutant need not be wrong, nor even be
// accepted by the verifiers of its ops.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_MUTANTS_H
#define LWCC_TEST_UNIT_PASSES_MUTANTS_H

#include "ir/exec/Exec.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lwcc::test {

using Random = std::mt19937;

struct Mutation {
  std::string kind;
  std::function<size_t(exec::ProgramOp)> sites;
  /// False if there is nothing to damage at this site.
  std::function<bool(exec::ProgramOp, size_t site, Random &)> apply;
};

const std::vector<Mutation> &mutations();

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_MUTANTS_H

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

#include "llvm/ADT/STLExtras.h"

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

/// Of events and waits, and of when and where calls run.
std::vector<Mutation> orderMutations();
/// Of what calls read, write and compute.
std::vector<Mutation> callMutations();
/// Of where buffers lie, how large they are and what they are for.
std::vector<Mutation> bufferMutations();
/// All of them.
std::vector<Mutation> mutations();

//===----------------------------------------------------------------------===//
// To make them of
//===----------------------------------------------------------------------===//

template <typename OpT>
std::vector<OpT> all(exec::ProgramOp program) {
  std::vector<OpT> result;
  program.walk([&](OpT op) { result.push_back(op); });
  return result;
}

inline size_t below(size_t n, Random &random) { return random() % n; }

template <typename T>
T pick(const std::vector<T> &list, Random &random) {
  return list[below(list.size(), random)];
}

/// A damage at each op of a type that `fits`, `times` over.
template <typename OpT>
Mutation atEach(
    std::string kind,
    std::function<bool(OpT, exec::ProgramOp, Random &)> damage,
    size_t times = 1,
    std::function<bool(OpT)> fits = [](OpT) { return true; }) {
  auto sites = [fits](exec::ProgramOp program) {
    std::vector<OpT> ops = all<OpT>(program);
    llvm::erase_if(ops, [&](OpT op) { return !fits(op); });
    return ops;
  };
  return {
      kind,
      [=](exec::ProgramOp program) { return times * sites(program).size(); },
      [=](exec::ProgramOp program, size_t site, Random &random) {
        return damage(sites(program)[site / times], program, random);
      }};
}

/// A value of the same type, mostly a similar one; null if there is none.
mlir::Attribute otherValue(mlir::Attribute value, Random &random);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_MUTANTS_H

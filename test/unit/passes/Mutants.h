//===- Mutants.h - Mutations of exec programs -------------------*- C++ -*-===//
//
// Mutations of exec programs, for mutation tests of the schedule verifier. A
// mutation can be applied at several sites of a program; what a site leaves
// open (which other buffer, which other place) is random. A mutant may still be
// correct, and may be rejected by the verifiers of its ops.
//
// Does not decide whether a mutant is wrong: BruteForce.h does.
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

/// One kind of damage.
struct Mutation {
  std::string kind;
  std::function<size_t(exec::ProgramOp)> sites;
  /// Applies it at a site; false if there is nothing to damage.
  std::function<bool(exec::ProgramOp, size_t site, Random &)> apply;
};

/// Mutations of events and waits, and of when and where calls run.
std::vector<Mutation> orderMutations();
/// Mutations of what calls read, write and compute.
std::vector<Mutation> callMutations();
/// Mutations of where buffers lie, how large they are, and their roles.
std::vector<Mutation> bufferMutations();
/// All mutations.
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

/// A mutation that applies `damage` at each op for which `fits` holds, `times`
/// times.
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

/// Another value of the attribute's type, mostly a similar one; null if there
/// is none.
mlir::Attribute otherValue(mlir::Attribute value, Random &random);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_MUTANTS_H

//===- BruteForce.h - Does a program mean what another says? ----*- C++ -*-===//
//
// An independent judge for the tests of the schedule verifier. It runs an exec
// program on symbolic tags (SymbolicProgram.h): the original in the order of
// appending with a memory of its own for every root buffer, which is what the
// program means, and mutants with their real offsets, in the order of appending
// and in many interleavings of their lanes, which is what may happen. What a
// run leaves in the persistent buffers is its result, by the tensor and element
// that the trainer takes it for; a mutant with any other result is wrong.
//
// One run of each sequence says it all: it begins with tags of which nothing is
// known, as after any number of runs, but that copies of an element are equal.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H
#define LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

#include "SymbolicProgram.h"

namespace lwcc::test {

/// How many interleavings are tried of each sequence: one that runs a call as
/// early as possible and one that runs it as late as possible, for so many
/// calls (where two calls are not ordered, one of them swaps the two), and some
/// random ones.
struct Effort {
  unsigned calls = 1000;
  unsigned random = 30;
};

class Judge {
public:
  explicit Judge(exec::ProgramOp original);

  /// Empty if no interleaving tried goes wrong, else what went wrong.
  std::string findMistake(exec::ProgramOp mutant, const Effort &effort,
                          unsigned seed) const;

private:
  SymbolicProgram original;
  /// By sequence: the tags of all that is kept, in its order.
  std::vector<std::vector<Tag>> results;
};

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

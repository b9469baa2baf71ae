//===- BruteForce.h - Whether two programs mean the same --------*- C++ -*-===//
//
// The judge of mutants in the tests of the schedule verifier, independent of
// it. It runs programs symbolically (SymbolicProgram.h). The original runs in
// the order of appending, with a memory of its own for each root buffer: that
// is its meaning. A mutant runs with its real offsets, in the order of
// appending and in many interleavings of its lanes. The result of a run is what
// it leaves in the persistent buffers, by tensor and element. A mutant with
// another result in any run is wrong.
//
// One run of each sequence suffices. It starts with tags of which nothing is
// known but that copies of an element are equal, which holds after any number
// of runs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H
#define LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

#include "SymbolicProgram.h"

namespace lwcc::test {

/// How many interleavings of each sequence are tried. For each of at most
/// `calls` calls: one in which it runs as early as possible, and one in which
/// it runs as late as possible. Of any two unordered calls one of these swaps
/// the two. Then `random` random ones.
struct Effort {
  unsigned calls = 1000;
  unsigned random = 30;
};

/// Judges mutants of one program.
class Judge {
public:
  explicit Judge(exec::ProgramOp original);

  /// Why a mutant is wrong; "" if no interleaving that was tried shows it.
  std::string findMistake(exec::ProgramOp mutant, const Effort &effort,
                          unsigned seed) const;

private:
  SymbolicProgram original;
  /// By sequence: the tags of all kept elements.
  std::vector<std::vector<Tag>> results;
};

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

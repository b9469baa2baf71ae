//===- BruteForce.h - Does a program mean what it says? ---------*- C++ -*-===//
//
// An independent judge for the tests of the schedule verifier. It shares no
// code with the compiler: it runs an exec program on version tags, once in the
// order of appending with a memory of its own for every root buffer (what the
// program means), and then in many interleavings of its lanes with the real
// offsets (what may happen). Any difference that a call or the next run could
// see makes the program wrong.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H
#define LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

#include "ir/exec/Exec.h"

namespace lwcc::test {

/// Empty if no interleaving tried goes wrong, else what went wrong. Tries, for
/// every call, the interleaving that runs it as early as possible and the one
/// that runs it as late as possible, and some random ones: where two calls are
/// not ordered, one of the former swaps them.
std::string findMistake(exec::SequenceOp sequence, unsigned seed);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_BRUTEFORCE_H

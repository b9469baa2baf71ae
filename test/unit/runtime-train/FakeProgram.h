//===- FakeProgram.h - A small program that learns --------------*- C++ -*-===//
//
// Softmax regression on two devices, for tests of runtime/train. The input is
// cut by rows of the image, the weight by columns, and the bias is replicated,
// so that every kind of part occurs. It has a running mean and an optimizer
// state, and exports a file of literal and trained pieces.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMETRAIN_FAKEPROGRAM_H
#define LWCC_TEST_RUNTIMETRAIN_FAKEPROGRAM_H

#include "runtime/core/Program.h"

#include <string>

namespace lwcc::rt {

struct FakeOptions {
  int64_t batch = 8;
  int64_t classes = 4;
  int64_t height = 4; ///< even
  int64_t width = 4;
  std::string modelHash = "hash-of-fake";
};

Program makeFakeProgram(const FakeOptions &options = {});

} // namespace lwcc::rt

#endif // LWCC_TEST_RUNTIMETRAIN_FAKEPROGRAM_H

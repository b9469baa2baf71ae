//===- FakeTrainer.cpp - A trainer binary without a backend ---------------===//
//
// What the lit tests of the trainer's command line run.
//
//===----------------------------------------------------------------------===//

#include "FakeProgram.h"

int main(int argc, char **argv) {
  lwcc::rt::Program program = lwcc::rt::makeFakeProgram();
  return lwcc::rt::trainMain(argc, argv, program);
}

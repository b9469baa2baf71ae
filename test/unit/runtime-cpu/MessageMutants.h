//===- MessageMutants.h - Messages with one mistake -------------*- C++ -*-===//
//
// Takes what was derived for a program and makes it wrong in one place: the
// mistakes that a derivation could make.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_RUNTIME_CPU_MESSAGEMUTANTS_H
#define LWCC_TEST_UNIT_RUNTIME_CPU_MESSAGEMUTANTS_H

#include "RankPrograms.h"

namespace lwcc::rt::exchange {

struct MessageMutant {
  std::string kind; ///< in a few words
  Messages messages;
};

std::vector<MessageMutant> mutantsOf(const RankProgram &program,
                                     const Messages &messages);

} // namespace lwcc::rt::exchange

#endif // LWCC_TEST_UNIT_RUNTIME_CPU_MESSAGEMUTANTS_H

//===- FlagValues.h - Flags' values to and from text ------------*- C++ -*-===//
//
// The text of a flag's value, as it stands on the command line, in --help and
// in checkpoints. Which flags there are is FlagTable.h's; who asks is
// Flags.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CLI_FLAGVALUES_H
#define LWCC_RUNTIME_TRAIN_CLI_FLAGVALUES_H

#include "runtime/train/cli/FlagTable.h"

#include <string>

namespace lwcc::rt::train {

/// Stores `text` in the flag's field; returns what was expected instead, or "".
std::string setFlag(Options &options, const Flag &flag,
                    const std::string &text);

/// What setFlag would read back: numbers are exact.
std::string textOf(const Options &options, const Flag &flag);

/// Whether it is the text of a flag that has no value until it gets one: it is
/// not remembered, and --help shows no default. No flag can be given as -1.
bool isUnset(const std::string &text);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CLI_FLAGVALUES_H

//===- Agreement.h - Flags that need or exclude each other ------*- C++ -*-===//
//
// What no flag's own range refuses (FlagTable.h): a flag that means nothing
// without another, or that contradicts another. Looks at no file and changes
// nothing. A checkpoint's flags are looked at like those of the command line,
// so this is called when they have been recalled.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CLI_AGREEMENT_H
#define LWCC_RUNTIME_TRAIN_CLI_AGREEMENT_H

#include "runtime/core/Program.h"
#include "runtime/train/cli/Flags.h"

namespace lwcc::rt::train {

/// Throws Error with a line for every disagreement.
void checkAgreement(const Flags &flags, const Program &program);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CLI_AGREEMENT_H

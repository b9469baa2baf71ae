//===- Info.h - What a program says about itself ----------------*- C++ -*-===//
//
// Texts from the Program alone, without a machine: --info works where there is
// no GPU.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_INFO_H
#define LWCC_RUNTIME_TRAIN_REPORT_INFO_H

#include "runtime/core/Program.h"

#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// The first lines of a training.
std::string describeHeader(const Program &program);

/// The text of --info.
std::string describeProgram(const Program &program);

/// Answers to flags that people try on a trainer although they are lwcc's, or
/// nobody's: flag and answer.
std::vector<std::pair<std::string, std::string>>
flagsOfOthers(const Program &program);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_INFO_H

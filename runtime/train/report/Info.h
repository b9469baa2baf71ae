//===- Info.h - What a program says about itself ----------------*- C++ -*-===//
//
// This room is what a training tells, and to whom:
//
//   info      what a program is, before it runs (this file)
//   progress  lines for a person while it trains (Progress.h)
//   log       a line of JSON for every step, for scripts (Log.h)
//   epochs    a line of CSV for every epoch (EpochTable.h)
//   classes   how well each is told apart (ClassTable.h)
//   trace     when every call of some steps ran, for profilers (Trace.h)
//   remark    data that can be trained on but looks wrong (Remarks.h)
//
// Nothing here decides what a training does. The texts of this file are made
// from the Program alone, without a machine, so that --info works where there
// is no GPU.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_INFO_H
#define LWCC_RUNTIME_TRAIN_REPORT_INFO_H

#include "runtime/core/Program.h"

#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// What a sample is called: "image", or "sequence" of tokens.
const char *sampleNoun(const Program &program);

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

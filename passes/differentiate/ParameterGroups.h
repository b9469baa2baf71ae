//===- ParameterGroups.h - What users say of some parameters ----*- C++ -*-===//
//
// A group is a regular expression of names, and the factors of learning rate
// and weight decay for the parameters in whose names it is found.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_PARAMETERGROUPS_H
#define LWCC_PASSES_DIFFERENTIATE_PARAMETERGROUPS_H

#include "passes/differentiate/Optimizers.h"

#include <string>

namespace lwcc::train {

struct ParameterGroup {
  std::string pattern;
  UpdateScales scales;
};

/// Reads "REGEX:lr-scale=0.1,weight-decay-scale=0", with one of the factors or
/// both. Returns what is wrong with it, or "".
std::string parseGroup(llvm::StringRef text, ParameterGroup &group);

/// What is wrong with a regular expression, or "".
std::string mistakeOf(llvm::StringRef pattern);

/// The kinds of parameters that --no-decay names: "bias", "norm".
bool isParameterKind(llvm::StringRef kind);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_PARAMETERGROUPS_H

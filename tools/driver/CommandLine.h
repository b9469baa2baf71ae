//===- CommandLine.h - Flags as a person gives them -------------*- C++ -*-===//
//
// Parses the command line with LLVM's library, but reports mistakes in its own
// way: each is one line, and an unknown flag is a mistake.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_COMMANDLINE_H
#define LWCC_TOOLS_DRIVER_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <string>
#include <vector>

namespace lwcc {

/// "lwcc 0.1.0", as every program that lwcc makes says, too. The number is that
/// of project() in the top CMakeLists.txt.
llvm::StringRef versionText();

/// Forgets the options that LLVM's libraries register when they are loaded:
/// some have the names of ours, and none is for our users.
struct ForgetLibraryOptions {
  ForgetLibraryOptions() { llvm::cl::ResetCommandLineParser(); }
};

/// Gives the options of `category` their values; returns all mistakes. --help
/// and --version end the process.
std::vector<std::string> parseFlags(int argc, char **argv,
                                    llvm::StringRef overview,
                                    llvm::cl::OptionCategory &category);

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_COMMANDLINE_H

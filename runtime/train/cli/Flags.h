//===- Flags.h - The trainer's command line ---------------------*- C++ -*-===//
//
// The nouns of this room:
//
//   flag             a row of a table: name, type, range, default, help
//                    (FlagTable.h)
//   flags            the options that a command line gives, and which of them
//                    it gave (this file)
//   remembered flag  one that belongs to the training itself: a checkpoint
//                    keeps it as text, a resumed training takes it from there
//   command          what the program does instead of training: its first
//                    argument, a row with the flags that it takes (FlagTable.h)
//
// The parser, --help, the search for the nearest flag and what a checkpoint
// remembers all come from the table; nothing else knows how a flag is spelled.
// Main.cpp puts flags, data, machine and trainer together, Evaluate.cpp and
// Predict.cpp do it for the commands; what they share is Setup.h's.
//
// Why no library: the parsers there are (CLI11, Boost, cxxopts) stop at the
// first mistake and do not name the nearest flag; here all mistakes are listed
// at once. And the table is needed without a command line as well: a checkpoint
// remembers flags as texts, which are checked and compared when it is resumed.
// What a library would take over, splitting --flag=value, is twenty lines.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CLI_FLAGS_H
#define LWCC_RUNTIME_TRAIN_CLI_FLAGS_H

#include "runtime/train/loop/Optimizers.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

struct Command; // FlagTable.h

struct Flags {
  /// Whose flags there are, beside those of every training.
  const Optimizer *optimizer = &optimizers().front();
  /// What is done instead of training; null: it trains.
  const Command *command = nullptr;
  Options options = optimizer->defaults;
  std::set<std::string> given; ///< names, without the dashes
};

/// Flags that there are not, each with what to say to those who try it.
using FlagAnswers = std::vector<std::pair<std::string, std::string>>;

/// Accepts --flag=value and --flag value, and a command before them. Throws
/// Error with one line for every mistake, flags that a command cannot do
/// without among them.
Flags parseFlags(const std::vector<std::string> &arguments,
                 const Optimizer &optimizer = optimizers().front(),
                 const FlagAnswers &answers = {});

/// What --help prints below the first line: the commands where there is none,
/// and the flags.
std::string flagsHelp(const Optimizer &optimizer = optimizers().front(),
                      const Command *command = nullptr);

/// The flags that belong to the training itself, as name and text, for a
/// checkpoint.
std::vector<std::pair<std::string, std::string>>
rememberedFlags(const Options &options,
                const Optimizer &optimizer = optimizers().front());

/// Takes a checkpoint's flags, except where the command line says otherwise,
/// and of them only those that the command has, if there is one. Returns what
/// differs ("--lr is 0.1, was 0.01"); throws Error(WHERE: ...) for texts that
/// are not values of the flag.
std::vector<std::string>
recallFlags(Flags &flags,
            const std::vector<std::pair<std::string, std::string>> &remembered,
            const std::string &where);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CLI_FLAGS_H

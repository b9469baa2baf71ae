//===- FlagTable.h - One row per flag ---------------------------*- C++ -*-===//
//
// Name, type, range and help of every flag of Options, and which of them each
// command takes. A new flag is a field there and a row here; how its
// value is read and printed is FlagValues.cpp's, how a command line is,
// Flags.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_CLI_FLAGTABLE_H
#define LWCC_RUNTIME_TRAIN_CLI_FLAGTABLE_H

#include "runtime/train/cli/Flags.h"

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace lwcc::rt::train {

using NumberList = std::vector<double>;
inline constexpr double noLimit = std::numeric_limits<double>::infinity();

struct Flag {
  const char *name;
  const char *value; ///< its placeholder in --help; null: a switch
  std::variant<bool Options::*, int64_t Options::*, uint64_t Options::*,
               double Options::*, std::string Options::*, NumberList Options::*>
      field;
  const char *help;
  bool remembered = false; ///< belongs to the training, kept in checkpoints
  double low = 0;          ///< least value of a number
  double high = noLimit;
  std::vector<std::string> choices = {};
};

/// The title of the hyper-parameters, of which each optimizer has some.
inline constexpr char ofOptimizers[] = "Optimizer";

/// The titles of the flags that a training has not.
inline constexpr char ofPrediction[] = "Prediction";
inline constexpr char ofEvaluation[] = "Evaluation";

struct FlagSection {
  const char *title;
  std::vector<Flag> flags;

  /// Whether the flags are of commands only.
  bool isOfCommands() const {
    return title == ofPrediction || title == ofEvaluation;
  }
};

/// How timm's training script spells a flag that means the same.
struct Spelling {
  const char *name;
  const char *flag;
};

/// Accepted, but not listed by --help.
const std::vector<Spelling> &spellingTable();

/// In the order of --help.
const std::vector<FlagSection> &flagTable();

/// A flag of a command.
struct CommandFlag {
  const char *name;
  const char *help = nullptr; ///< where it means something else there
  /// What is said where it is missing; null: it may be.
  const char *required = nullptr;
  const char *value = nullptr; ///< its placeholder, where it is another
};

/// What the program does instead of training if its first argument says so.
struct Command {
  const char *name;
  const char *does;  ///< for the list of commands
  const char *usage; ///< behind the program's name
  std::vector<CommandFlag> flags;

  const CommandFlag *find(const std::string &flag) const;
};

const std::vector<Command> &commandTable();
inline constexpr char evaluateCommand[] = "evaluate";
inline constexpr char predictCommand[] = "predict";

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_CLI_FLAGTABLE_H

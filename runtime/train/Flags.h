//===- Flags.h - The trainer's command line ---------------------*- C++ -*-===//
//
// One table row per flag: name, type, default, help. The parser, --help, the
// search for the nearest flag and what a checkpoint remembers all come from
// the table; nothing else knows how a flag is spelled.
//
// Why no library: the parsers there are (CLI11, Boost, cxxopts) stop at the
// first mistake and do not name the nearest flag; here all mistakes are listed
// at once. And the table is needed without a command line as well: a checkpoint
// remembers flags as texts, which are checked and compared when it is resumed.
// What a library would take over, splitting --flag=value, is twenty lines.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FLAGS_H
#define LWCC_RUNTIME_TRAIN_FLAGS_H

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// The values of all flags; the initializers are the defaults.
struct Options {
  // Data
  std::string data;
  std::string valData;
  bool noShuffle = false;
  std::vector<double> mean, std;
  int64_t workers = 1;
  // Training
  int64_t epochs = -1; ///< -1: as many as `steps` takes, or 1
  int64_t steps = -1;  ///< -1: no limit
  double lr = 0.01;
  std::string sched = "constant";
  int64_t warmupEpochs = 0;
  double warmupLr = 1e-5;
  double minLr = 0;
  int64_t decayEpochs = 90;
  double decayRate = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double weightDecay = 0;
  uint64_t seed = 0;
  std::string init = "file";
  // Checkpoints and results
  std::string checkpointDir;
  int64_t checkpointEvery = 0; ///< 0: after each epoch
  int64_t checkpointKeep = 3;  ///< 0: all
  std::string resume;
  std::string exportOnnx;
  std::string log;
  int64_t logInterval = 50;
  // Machine
  int64_t threads = 0;
  bool deterministic = false;
  int64_t benchmark = 0;
  std::string trace;
  // Instead of training
  bool info = false;
  bool help = false;
  bool version = false;
};

struct Flags {
  Options options;
  std::set<std::string> given; ///< names, without the dashes
};

/// Flags that there are not, each with what to say to those who try it.
using FlagAnswers = std::vector<std::pair<std::string, std::string>>;

/// Accepts --flag=value and --flag value. Throws Error with one line for every
/// mistake.
Flags parseFlags(const std::vector<std::string> &arguments,
                 const FlagAnswers &answers = {});

/// What --help prints below the first line.
std::string flagsHelp();

/// The flags that belong to the training itself, as name and text, for a
/// checkpoint.
std::vector<std::pair<std::string, std::string>>
rememberedFlags(const Options &options);

/// Takes a checkpoint's flags, except where the command line says otherwise.
/// Returns what differs ("--lr is 0.1, was 0.01"); throws Error(WHERE: ...)
/// for texts that are not values of the flag.
std::vector<std::string>
recallFlags(Flags &flags,
            const std::vector<std::pair<std::string, std::string>> &remembered,
            const std::string &where);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FLAGS_H

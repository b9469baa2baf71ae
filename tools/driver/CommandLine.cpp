//===- CommandLine.cpp - Flags as a person gives them ---------------------===//

#include "tools/driver/CommandLine.h"
#include "ir/json/Suggestion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <utility>

using namespace lwcc;
using llvm::StringRef;
namespace cl = llvm::cl;

/// The flags of the trainer, which are no mistakes of spelling here.
static const StringRef ofTheTrainer[] = {"data",
                                         "val-data",
                                         "val-split",
                                         "no-shuffle",
                                         "last-batch",
                                         "mean",
                                         "std",
                                         "workers",
                                         "picture-cache",
                                         "crop-pct",
                                         "on-bad-image",
                                         "scale",
                                         "ratio",
                                         "hflip",
                                         "vflip",
                                         "rotate",
                                         "rand-augment",
                                         "color-jitter",
                                         "erase",
                                         "mixup",
                                         "cutmix",
                                         "ignore-index",
                                         "columns",
                                         "target-columns",
                                         "epochs",
                                         "steps",
                                         "lr",
                                         "sched",
                                         "warmup-epochs",
                                         "warmup-steps",
                                         "warmup-lr",
                                         "min-lr",
                                         "decay-epochs",
                                         "decay-rate",
                                         "decay-milestones",
                                         "pct-start",
                                         "div-factor",
                                         "final-div-factor",
                                         "plateau-patience",
                                         "momentum",
                                         "nesterov",
                                         "weight-decay",
                                         "betas",
                                         "alpha",
                                         "lr-decay",
                                         "trust-coeff",
                                         "eps",
                                         "clip-value",
                                         "seed",
                                         "init",
                                         "init-from",
                                         "checkpoint-dir",
                                         "checkpoint-every",
                                         "checkpoint-keep",
                                         "best",
                                         "patience",
                                         "resume",
                                         "export-onnx",
                                         "log",
                                         "log-csv",
                                         "tensorboard",
                                         "log-interval",
                                         "threads",
                                         "ranks",
                                         "deterministic",
                                         "benchmark",
                                         "trace",
                                         "info",
                                         "scores",
                                         "metrics"};

/// What other programs call what the trainer does, or has not.
static const StringRef ofTraining[] = {"learning-rate"};

/// The flag that may have been meant, "" if none is near.
static StringRef meant(StringRef name, llvm::ArrayRef<StringRef> flags) {
  for (StringRef flag : flags)
    if (flag.size() > 3 && name.starts_with(flag))
      return flag; // --batch-size
  return nearest(name, flags);
}

static std::string unknown(StringRef argument, StringRef program) {
  auto [name, value] = argument.ltrim('-').split('=');
  const bool hasValue = argument.contains('=');
  auto withValue = [&](StringRef flag) {
    return "--" + flag.str() + (hasValue ? "=" + value.str() : "");
  };
  if (llvm::is_contained(ofTheTrainer, name))
    return "--" + name.str() + " is a flag of the trainer, the program that " +
           "lwcc makes: ./trainer " + withValue(name);
  if (llvm::is_contained(ofTraining, name))
    return "--" + name.str() + ": how to train is said to the trainer, the " +
           "program that lwcc makes (./trainer --help)";
  std::vector<StringRef> known;
  for (auto &[flag, option] : cl::getRegisteredOptions())
    if (flag.size() > 1 && option->getOptionHiddenFlag() == cl::NotHidden)
      known.push_back(flag);
  llvm::sort(known); // the map has no order
  std::string message = "unknown flag " + argument.str();
  if (StringRef close = meant(name, known); !close.empty())
    return message + "; did you mean " + withValue(close) + "?";
  if (StringRef close = meant(name, ofTheTrainer); !close.empty())
    return message + "; --" + close.str() + " is a flag of the trainer";
  return message + "; " + program.str() + " --help lists all";
}

/// Of numbers, which LLVM's parsers would complain about on their own.
static std::string wrongValue(const cl::Option &option, StringRef value) {
  const bool isWhole = option.ValueStr == "N" || option.ValueStr == "BYTES";
  int64_t whole;
  double number;
  if (isWhole ? !value.getAsInteger(0, whole)
              : option.ValueStr != "SECONDS" || !value.getAsDouble(number))
    return "";
  return "--" + option.ArgStr.str() + "=" + value.str() + ": expected a " +
         (isWhole ? "whole number" : "number");
}

StringRef lwcc::versionText() { return "lwcc " LWCC_VERSION; }

/// What --version prints: also what a bug report needs to tell.
static void printVersion(llvm::raw_ostream &out) {
  out << versionText() << "\n"
      << "  targets  cuda, cpu\n"
      << "  LLVM     " LLVM_VERSION_STRING "\n"
      << "  oneDNN   " LWCC_ONEDNN_VERSION "\n";
}

std::vector<std::string> lwcc::parseFlags(int argc, char **argv,
                                          StringRef overview,
                                          cl::OptionCategory &category) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  std::vector<std::string> mistakes;
  std::vector<const char *> known = {argv[0]};
  struct Positional {
    const char *text;
    bool isValue; ///< it may be, of an unknown flag
  };
  std::vector<Positional> positionals;
  auto &options = cl::getRegisteredOptions();
  bool afterUnknown = false;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-') {
      positionals.push_back({argv[i], std::exchange(afterUnknown, false)});
      continue;
    }
    auto [name, value] = argument.ltrim('-').split('=');
    auto option = options.find(name);
    afterUnknown = option == options.end() && !argument.contains('=');
    if (option == options.end()) {
      mistakes.push_back(unknown(argument, argv[0]));
      continue;
    }
    const bool needsValue =
        option->second->getValueExpectedFlag() == cl::ValueRequired;
    const bool isNext = needsValue && !argument.contains('=');
    if (isNext && i + 1 == argc) {
      mistakes.push_back(argument.str() + ": expected " +
                         option->second->ValueStr.str() + " behind it");
      continue;
    }
    if (std::string mistake = wrongValue(
            *option->second, isNext ? StringRef(argv[i + 1]) : value);
        needsValue && !mistake.empty()) {
      mistakes.push_back(mistake);
      i += isNext;
      continue;
    }
    known.push_back(argv[i]);
    if (isNext)
      known.push_back(argv[++i]);
  }
  const char *first = nullptr;
  for (const Positional &each : positionals) {
    if (each.isValue && positionals.size() > 1)
      continue;
    if (first)
      mistakes.push_back("unexpected argument '" + std::string(each.text) +
                         "' behind '" + first + "'");
    else
      first = each.text;
  }
  if (first)
    known.insert(known.end(), {"--", first});
  std::string text;
  llvm::raw_string_ostream stream(text);
  // What it says of a value it says by itself.
  if (!cl::ParseCommandLineOptions(static_cast<int>(known.size()), known.data(),
                                   overview, &stream))
    mistakes.push_back(text.empty() ? std::string(argv[0]) +
                                          " --help tells what flags take"
                                    : StringRef(text).trim().str());
  return mistakes;
}

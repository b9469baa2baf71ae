//===- Flags.cpp - The trainer's command line -----------------------------===//

#include "runtime/train/cli/Flags.h"

#include "runtime/core/Error.h"
#include "runtime/train/cli/FlagTable.h"
#include "runtime/train/cli/FlagValues.h"
#include "runtime/train/files/Text.h"

#include <algorithm>

namespace lwcc::rt::train {

/// Whether the command has no such flag, or the flag is a hyper-parameter that
/// the optimizer has not.
static bool isForeign(const FlagSection &section, const Flag &flag,
                      const Optimizer &optimizer, const Command *command) {
  if (command)
    return !command->find(flag.name);
  if (section.isOfCommands())
    return true;
  return section.title == ofOptimizers &&
         std::find(optimizer.flags.begin(), optimizer.flags.end(), flag.name) ==
             optimizer.flags.end();
}

/// Calls visit(section, flag) for each flag that there is with the optimizer,
/// or that the command has.
template <typename Visit>
static void forEachFlag(const Optimizer &optimizer, const Command *command,
                        const Visit &visit) {
  for (const FlagSection &section : flagTable())
    for (const Flag &flag : section.flags)
      if (!isForeign(section, flag, optimizer, command))
        visit(section, flag);
}

static const Flag *findFlag(const std::string &name, const Optimizer &optimizer,
                            const Command *command) {
  const Flag *found = nullptr;
  forEachFlag(optimizer, command, [&](const FlagSection &, const Flag &flag) {
    if (name == flag.name)
      found = &flag;
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

/// The command that has a flag which trainings have not.
static const char *ownerOf(const std::string &flag) {
  for (const Command &command : commandTable())
    if (command.find(flag))
      return command.name;
  return "";
}

/// Of a command: what is a flag of trainings, and what of nobody.
static std::string unknownFlag(const std::string &name, const Command &command,
                               const FlagAnswers &answers) {
  std::vector<std::string> own, all;
  for (const FlagSection &section : flagTable())
    for (const Flag &flag : section.flags) {
      if (flag.name == name)
        return "--" + name + " is no flag of " + command.name + ", but of " +
               (section.isOfCommands() ? ownerOf(name) : "a training");
      (command.find(flag.name) ? own : all).push_back(flag.name);
    }
  for (const auto &[flag, answer] : answers)
    if (flag == name)
      return "--" + name + ": " + answer;
  const std::string text = "unknown flag --" + name;
  if (std::string close = nearest(name, own); !close.empty())
    return text + "; did you mean --" + close + "?";
  if (std::string close = nearest(name, all); !close.empty())
    return text + "; --" + close + " is no flag of " + command.name;
  return text;
}

static std::string unknownFlag(const std::string &name,
                               const Optimizer &optimizer,
                               const FlagAnswers &answers) {
  for (const FlagSection &section : flagTable())
    for (const Flag &flag : section.flags)
      if (flag.name == name && section.isOfCommands()) {
        return "--" + name + " is a flag of " + ownerOf(name) +
               ", which stands before it: " + ownerOf(name) + " --" + name;
      } else if (flag.name == name) {
        std::string own;
        for (const std::string &other : optimizer.flags)
          own += (own.empty() ? "--" : ", --") + other;
        return "--" + name + ": " + optimizer.title +
               ", which this program was compiled for, has no such flag; it "
               "has " +
               own;
      }
  for (const auto &[flag, answer] : answers)
    if (flag == name)
      return "--" + name + ": " + answer;
  std::vector<std::string> names;
  forEachFlag(optimizer, nullptr, [&](const FlagSection &, const Flag &flag) {
    names.push_back(flag.name);
  });
  std::string close = nearest(name, names);
  return "unknown flag --" + name +
         (close.empty() ? "" : "; did you mean --" + close + "?");
}

static const Command *findCommand(const std::string &name) {
  for (const Command &command : commandTable())
    if (name == command.name)
      return &command;
  return nullptr;
}

/// Of an argument that is no flag.
static std::string unexpected(const std::string &argument, bool isFirst) {
  std::vector<std::string> names;
  for (const Command &command : commandTable())
    names.push_back(command.name);
  std::string text = "unexpected argument '" + argument + "'; ";
  if (std::string close = nearest(argument, names); isFirst && !close.empty())
    return text + "did you mean " + close + "?";
  if (findCommand(argument))
    return text + "it stands before all flags";
  return text + "all arguments are --flag=value";
}

/// The name that --help has, of any spelling.
static std::string ownSpelling(const std::string &name) {
  for (const Spelling &spelling : spellingTable())
    if (name == spelling.name)
      return spelling.flag;
  return name;
}

Flags parseFlags(const std::vector<std::string> &arguments,
                 const Optimizer &optimizer, const FlagAnswers &answers) {
  Flags flags;
  flags.optimizer = &optimizer;
  flags.options = optimizer.defaults;
  std::vector<std::string> mistakes;
  if (!arguments.empty())
    flags.command = findCommand(arguments.front());
  const Command *command = flags.command;
  for (size_t i = command ? 1 : 0; i < arguments.size(); ++i) {
    std::string argument = arguments[i];
    if (argument == "-h") {
      flags.options.help = true;
      continue;
    }
    if (command && command->find("output") &&
        (argument == "-o" || argument.starts_with("-o=")))
      argument.replace(0, 2, "--output");
    if (argument.size() < 3 || argument.compare(0, 2, "--") != 0) {
      mistakes.push_back(unexpected(argument, i == 0));
      continue;
    }
    size_t equals = std::min(argument.find('='), argument.size());
    std::string name = ownSpelling(argument.substr(2, equals - 2));
    const Flag *flag = findFlag(name, optimizer, command);
    if (!flag) {
      mistakes.push_back(command ? unknownFlag(name, *command, answers)
                                 : unknownFlag(name, optimizer, answers));
      // Not another mistake: the value of the flag that we do not know.
      if (equals == argument.size() && i + 1 < arguments.size() &&
          arguments[i + 1].compare(0, 1, "-") != 0)
        ++i;
      continue;
    }
    std::string value = "true";
    if (equals < argument.size()) {
      value = argument.substr(equals + 1);
    } else if (flag->value) {
      if (i + 1 == arguments.size() ||
          arguments[i + 1].compare(0, 2, "--") == 0) {
        mistakes.push_back("--" + name + " needs a value: --" + name + "=" +
                           flag->value);
        continue;
      }
      value = arguments[++i];
    }
    if (std::string expected = setFlag(flags.options, *flag, value);
        !expected.empty())
      mistakes.push_back("--" + name + "=" + value + ": expected " + expected);
    flags.given.insert(name);
  }
  if (command && !flags.options.help && !flags.options.version)
    for (const CommandFlag &flag : command->flags)
      if (flag.required && !flags.given.count(flag.name))
        mistakes.push_back(flag.required);
  if (mistakes.empty())
    return flags;
  std::string message;
  for (const std::string &mistake : mistakes)
    message += mistake + "\n";
  throw Error(message + "(" +
              (command ? std::string(command->name) + " " : "") +
              "--help lists all flags)");
}

/// A flag's line, with what it does beside it, wrapped at the right edge.
static std::string helpLine(std::string line, const std::string &help) {
  constexpr size_t column = 28, width = 80;
  line += line.size() + 2 > column ? "\n" + std::string(column, ' ')
                                   : std::string(column - line.size(), ' ');
  size_t used = column;
  for (size_t at = 0; at < help.size();) {
    size_t end = std::min(help.find(' ', at), help.size());
    if (used > column && used + 1 + (end - at) > width) {
      line += "\n" + std::string(column, ' ');
      used = column;
    }
    if (used > column) {
      line += ' ';
      ++used;
    }
    line.append(help, at, end - at);
    used += end - at;
    at = end + 1;
  }
  return line + "\n";
}

std::string flagsHelp(const Optimizer &optimizer, const Command *command) {
  std::string text;
  if (!command) {
    text += "\nCommands, before all flags; COMMAND --help lists its own:\n";
    for (const Command &each : commandTable())
      text += helpLine(std::string("  ") + each.name, each.does);
  }
  const char *title = nullptr;
  forEachFlag(
      optimizer, command, [&](const FlagSection &section, const Flag &flag) {
        if (title != section.title) {
          title = section.title;
          text += std::string("\n") + title;
          if (section.title == ofOptimizers)
            text += " (" + optimizer.title + ")";
          text += ":\n";
        }
        CommandFlag own = {flag.name, flag.help, nullptr, flag.value};
        if (const CommandFlag *found =
                command ? command->find(flag.name) : nullptr) {
          own.help = found->help ? found->help : flag.help;
          own.value = found->value ? found->value : flag.value;
        }
        std::string help = own.help, value = textOf(optimizer.defaults, flag);
        if (own.value && !isUnset(value))
          help += " (default: " + value + ")";
        text +=
            helpLine(std::string("  --") + flag.name + (own.value ? "=" : "") +
                         (own.value ? own.value : ""),
                     help);
      });
  return text;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

std::vector<std::pair<std::string, std::string>>
rememberedFlags(const Options &options, const Optimizer &optimizer) {
  // Only for their bits: another machine has other cores.
  const decltype(Flag::field) threads = &Options::threads;
  std::vector<std::pair<std::string, std::string>> texts;
  forEachFlag(optimizer, nullptr, [&](const FlagSection &, const Flag &flag) {
    if (std::string text = textOf(options, flag);
        flag.remembered && !isUnset(text) &&
        (options.deterministic || flag.field != threads))
      texts.emplace_back(flag.name, text);
  });
  return texts;
}

std::vector<std::string>
recallFlags(Flags &flags,
            const std::vector<std::pair<std::string, std::string>> &remembered,
            const std::string &where) {
  std::vector<std::string> differences;
  bool newLength = flags.given.count("epochs") || flags.given.count("steps");
  for (const auto &[name, text] : remembered) {
    const Flag *flag = findFlag(name, *flags.optimizer, flags.command);
    if (!flag && flags.command)
      continue;
    if (!flag || !flag->remembered)
      throw Error(where + ": knows a flag --" + name +
                  " that this program does not");
    if (flags.given.count(name)) {
      std::string now = textOf(flags.options, *flag);
      if (now != text)
        differences.push_back("--" + name + " is " + now + ", was " + text);
      continue;
    }
    // The end of the training is given anew as a whole.
    if (newLength && (name == "epochs" || name == "steps"))
      continue;
    if (std::string expected = setFlag(flags.options, *flag, text);
        !expected.empty())
      throw Error(where + ": --" + name + "=" + text + ": expected " +
                  expected);
  }
  return differences;
}

} // namespace lwcc::rt::train

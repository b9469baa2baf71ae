//===- Main.cpp - The trainer's command line, from start to exit code -----===//
//
// Puts flags, checkpoint, data and machine together for a training, starts the
// commands, and is the one place where an Error becomes a message. What can be
// refused without a machine is refused before one is made.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/Program.h"
#include "runtime/train/cli/Agreement.h"
#include "runtime/train/cli/FlagTable.h"
#include "runtime/train/cli/Setup.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Text.h"
#include "runtime/train/loop/Benchmark.h"
#include "runtime/train/loop/Trainer.h"
#include "runtime/train/ranks/Follower.h"
#include "runtime/train/ranks/Leader.h"
#include "runtime/train/report/Info.h"
#include "runtime/train/state/Weights.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace lwcc::rt {

using namespace train;

/// What --threads must say for the same cut of the work, 0 where it says
/// nothing.
static int64_t threadsOf(const Machine &machine, const Program &program) {
  int64_t threads = 0;
  for (size_t i = 0; i < program.machine.lanes.size(); ++i)
    if (program.machine.lanes[i].use == LaneUse::compute)
      threads += machine.threads(static_cast<int>(i));
  return threads;
}

/// Fails now rather than after hours of training.
static void checkOutputs(const Program &program, const Options &options,
                         const std::string &checkpoint, FolderLock &lock) {
  if (!options.exportOnnx.empty()) {
    if (program.onnxExport.empty())
      throw Error("--export-onnx: this program was compiled without the ONNX "
                  "file's pieces");
    checkWritable(options.exportOnnx);
  }
  for (const std::string &log : {options.log, options.logCsv})
    if (!log.empty())
      checkWritable(log);
  if (options.checkpointDir.empty())
    return;
  std::error_code error;
  std::filesystem::create_directories(options.checkpointDir, error);
  if (error)
    throw Error(options.checkpointDir +
                ": cannot make the folder: " + error.message());
  checkWritable(
      (std::filesystem::path(options.checkpointDir) / "state.json").string());
  lock.take(options.checkpointDir);
  auto checkpoints = listCheckpoints(options.checkpointDir);
  // Also those that came after --resume=auto had found none.
  if (checkpoint.empty() && !checkpoints.empty())
    throw Error(options.checkpointDir +
                ": holds checkpoints of another "
                "training, the latest of step " +
                std::to_string(checkpoints.back().step) +
                "; add --resume=auto to continue it, or choose another folder");
  const std::string best = bestCheckpoint(options.checkpointDir);
  if (checkpoint.empty() && !options.best.empty() &&
      std::filesystem::exists(best, error))
    throw Error(best + ": is the best checkpoint of another training; choose "
                       "another folder");
}

/// Resolves --resume; takes the checkpoint's flags.
static void resume(const Program &program, Flags &flags, std::string &path,
                   TrainState &state, std::vector<std::string> &classes,
                   FolderLock &lock) {
  const Options &options = flags.options;
  if (options.resume.empty())
    return;
  if (!options.initFrom.empty())
    throw Error("--init-from is where a training begins, --resume continues "
                "one with all of its weights; give one of them");
  // Before the latest is looked for: another trainer may be about to write it.
  std::error_code error;
  if (std::filesystem::is_directory(options.checkpointDir, error))
    lock.take(options.checkpointDir);
  path = resolveResume(options.resume, options.checkpointDir);
  if (path.empty())
    return;
  CheckpointInfo info = readCheckpointInfo(path);
  if (info.optimizer != program.optimizer)
    throw Error(path + ": is of a training by " + info.optimizer +
                ", but this program was compiled for " + program.optimizer +
                "; lwcc MODEL --optimizer=" + info.optimizer +
                " makes one that continues it");
  checkCheckpoint(path, program);
  state = info.state;
  classes = info.classes;
  if (info.modelHash != program.modelHash)
    std::printf("note: %s is of another file than %s; their tensors agree\n",
                path.c_str(), program.model.c_str());
  for (const std::string &difference : recallFlags(flags, info.flags, path))
    std::printf("note: %s in %s\n", difference.c_str(), path.c_str());
}

static void printHelp(const Program &program, const char *name,
                      const Flags &flags) {
  const Command *command = flags.command;
  const std::string compiled =
      program.model + ", compiled by " + program.compiler;
  if (command)
    std::printf("%s: %s (%s).\n\nUsage: %s %s %s", command->name, command->does,
                compiled.c_str(), name, command->name, command->usage);
  else
    std::printf("Trains %s.\n\nUsage: %s --data=DIR", compiled.c_str(), name);
  std::printf(" [--flag=value ...]\n%s",
              flagsHelp(*flags.optimizer, command).c_str());
}

/// What this process does where it is not rank 0.
static int followRankZero(const Launch &launch, const Program &program,
                          Flags &flags) {
  std::vector<DataSet> opened;
  FollowerSetup setup;
  setup.openData = [&](const Welcome &welcome) {
    recallFlags(flags, welcome.flags, "rank 0");
    if (flags.options.benchmark > 0) {
      opened.push_back(benchmarkData(program));
    } else {
      TrainingData data = openTrainingData(program, flags.options);
      opened.push_back(std::move(data.training));
      if (data.validation)
        opened.push_back(std::move(*data.validation));
    }
    std::vector<const DataSet *> sets;
    for (const DataSet &set : opened)
      sets.push_back(&set);
    return sets;
  };
  setup.createMachine = [&](const Ranks &ranks, int threads) {
    flags.options.threads = threads;
    return createMachine(program, flags.options, &ranks);
  };
  return follow(launch, program, setup);
}

/// The machine of a training, of which other ranks may have a part.
static std::unique_ptr<Machine>
startMachine(const Program &program, Flags &flags, Leader *leader,
             const std::vector<const DataSet *> &data) {
  if (!leader)
    return createMachine(program, flags.options);
  std::vector<DataMark> marks;
  for (const DataSet *set : data)
    marks.push_back(markOf(program, *set->source));
  leader->gather(flags.options.threads,
                 rememberedFlags(flags.options, *flags.optimizer), marks);
  flags.options.threads = leader->threads();
  std::unique_ptr<Machine> machine =
      createMachine(program, flags.options, &leader->ranks());
  leader->watch(*machine);
  return machine;
}

static int trainOrThrow(int argc, char **argv, const Program &program) {
  auto start = std::chrono::steady_clock::now();
  const Optimizer &optimizer = optimizerOf(program.optimizer);
  Flags flags = parseFlags({argv + std::min(argc, 1), argv + argc}, optimizer,
                           flagsOfOthers(program));
  const Options &options = flags.options;
  if (options.help) {
    printHelp(program, argc > 0 ? argv[0] : "trainer", flags);
    return 0;
  }
  if (options.version) {
    std::printf("%s (%s)\n", program.compiler.c_str(), program.model.c_str());
    return 0;
  }
  if (options.info) {
    std::printf("%s", describeProgram(program).c_str());
    return 0;
  }
  if (!program.blob)
    throw Error(weightsPath() + ": the weights (" +
                countText(program.blobBytes) +
                " bytes) are not there; this file belongs to the program, and "
                "has to be copied and renamed with it");
  const std::optional<Launch> launch = findLaunch(
      options.ranks, [](const char *name) { return ::getenv(name); });
  if (launch && flags.command && launch->rank > 0)
    return 0; // rank 0 does it alone
  if (flags.command)
    return flags.command->name == std::string_view(predictCommand)
               ? runPredict(program, flags)
               : runEvaluate(program, flags);
  checkHyperParameters(optimizer, options);
  if (launch && launch->rank > 0)
    return followRankZero(*launch, program, flags);
  if (!options.trace.empty())
    checkWritable(options.trace);
  std::unique_ptr<Leader> leader; // outlives the machine
  if (launch)
    leader = std::make_unique<Leader>(*launch, program);
  if (options.benchmark > 0) {
    const DataSet data = benchmarkData(program);
    auto machine = startMachine(program, flags, leader.get(), {&data});
    runBenchmark(*machine, program, options, start);
    if (leader)
      leader->finish(0);
    return 0;
  }
  if (options.data.empty())
    throw Error("--data is missing: --data=DIR names a folder of images, "
                "--data=synthetic makes some up (--help lists all flags)");

  std::string checkpoint;
  TrainState state;
  FolderLock lock;
  std::vector<std::string> classes; // the checkpoint's
  resume(program, flags, checkpoint, state, classes, lock);
  checkHyperParameters(optimizer, options); // those of the checkpoint
  checkAgreement(flags, program);
  auto [data, validation] = openTrainingData(program, options);
  if (!checkpoint.empty() && state.images != data.source->size())
    std::printf("note: the checkpoint's training had %s, this one has %s; "
                "their order differs\n",
                plural(state.images, sampleNoun(program)).c_str(),
                countText(data.source->size()).c_str());

  if (!classes.empty() && classes != data.source->classNames())
    std::printf("note: the classes are not those of the checkpoint's training, "
                "which has numbered other names\n");

  std::optional<InitialWeights> weights;
  if (!options.initFrom.empty())
    weights.emplace(options.initFrom, program);

  // Last, since it makes the folder of the checkpoints.
  checkOutputs(program, options, checkpoint, lock);

  std::vector<const DataSet *> sets = {&data};
  if (validation)
    sets.push_back(&*validation);
  std::unique_ptr<Machine> machine =
      startMachine(program, flags, leader.get(), sets);
  if (options.deterministic) // checkpoints remember it
    flags.options.threads = threadsOf(*machine, program);
  TrainingTask task{program,
                    options,
                    data,
                    validation ? &*validation : nullptr,
                    state,
                    checkpoint,
                    weights ? &*weights : nullptr,
                    rememberedFlags(options, optimizer)};
  const int code = Trainer(*machine, task).run();
  if (leader)
    leader->finish(code);
  return code;
}

/// Where a program is started without them, the next files that it opens would
/// become its standard output and error.
static void openStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0)
      return; // then no other file opens either
}

int trainMain(int argc, char **argv, const Program &program) {
  openStandardStreams();
  // A file that reaches the limit of its size is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return trainOrThrow(argc, argv, program);
  } catch (const std::bad_alloc &) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: not enough memory\n");
  } catch (const std::exception &error) {
    auto *refusal = dynamic_cast<const std::system_error *>(&error);
    bool thread =
        refusal && refusal->code() == std::errc::resource_unavailable_try_again;
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s%s\n", error.what(),
                 thread ? ": a thread could not be started; fewer --threads or "
                          "--workers, or a higher limit (ulimit -u, ulimit -v) "
                          "may help"
                        : "");
    if (dynamic_cast<const RankLost *>(&error))
      return RankLost::exitCode;
  }
  return 1;
}

} // namespace lwcc::rt

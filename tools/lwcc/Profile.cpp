//===- Profile.cpp - lwcc profile -----------------------------------------===//
//
// `lwcc profile` times every call that a plan may lead to. A call is timed as
// it will run: inside a step, beside what other devices do meanwhile. So for
// each way to cut a layer, a program is made in which all layers that can be
// are cut like that. The programs run in turns, since a machine is quicker at
// one time than at another. Their traces (the trainer's --trace) tell how long
// each call took. The result is the median of equal calls over all runs, steps,
// layers and devices.
//
// Devices of one processor are as large as the program leaves them: their times
// belong to the number of devices that the program computes on (Profile.h). So
// one more program has all layers on one device, as plans for one have.
//
// The machine with the GPU need not have lwcc: with --trace, the traces come
// from trainers that ran elsewhere. They must be those of the program that the
// command line describes.
//
// An output file that exists is extended. Models, batches and numbers of
// devices share the times of equal calls.
//
//===----------------------------------------------------------------------===//

#include "codegen/EmitProgram.h"
#include "codegen/Names.h"
#include "ir/train/Train.h"
#include "passes/plan/model/BuildGraph.h"
#include "passes/plan/solve/Space.h"
#include "tools/driver/Driver.h"
#include "tools/driver/Interrupt.h"
#include "tools/lwcc/Build.h"
#include "tools/lwcc/CallTimes.h"
#include "tools/lwcc/Subcommands.h"
#include "tools/lwcc/ThisMachine.h"
#include "tools/lwcc/TracedProgram.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace lwcc;
namespace cl = llvm::cl;
using llvm::Error;
using llvm::Expected;

namespace {
struct ProfileFlags : CompileFlags {
  cl::opt<std::string> output{"o", cl::value_desc("FILE"),
                              cl::desc("The costs, for lwcc --costs; extended "
                                       "if it is there"),
                              cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("cuda|cpu"),
      cl::desc("What to measure (default: cuda, or cpu where there is neither "
               "nvcc nor a GPU)"),
      cl::cat(category)};
  cl::opt<int> steps{"steps", cl::init(8), cl::value_desc("N"),
                     cl::desc("Steps that each run of a program is timed in "
                              "(default: at least 8, for a quarter of a "
                              "second)"),
                     cl::cat(category)};
  cl::opt<int> rounds{"rounds", cl::init(3), cl::value_desc("N"),
                      cl::desc("Runs of each program, in turns"),
                      cl::cat(category)};
  cl::list<std::string> traces{
      "trace", cl::value_desc("FILE"),
      cl::desc("Take the times from this trace instead of running anything: of "
               "a trainer that was compiled with the same flags and run "
               "elsewhere (./trainer --benchmark=N --trace=FILE); may be given "
               "several times"),
      cl::cat(category)};
};

class Profiler {
public:
  Profiler(ProfileFlags &flags, MLIRContext &context,
           const TemporaryFolder &folder)
      : flags(flags), context(context), folder(folder) {}

  /// False after a message.
  bool run();

private:
  bool runPrograms();
  bool readTraces();
  bool findTilings();
  plan::Plan planWith(const Tiling &tiling) const;
  plan::Plan planOnOneDevice() const;
  struct Program {
    std::string trainer; ///< a file
    TracedProgram calls;
    int64_t steps;
  };
  Expected<Program> build(const plan::Plan &plan, StringRef name);
  Error measure(Program &program);
  Error add(const TracedProgram &program, const CallTimes &times) {
    return program.addTo(samples[machine.oneProcessor ? program.devices() : 1],
                         times);
  }
  static bool complain(const llvm::Twine &message) {
    lwcc::complain(message);
    return false;
  }

  ProfileFlags &flags;
  MLIRContext &context;
  const TemporaryFolder &folder;
  plan::Machine machine;
  plan::LayerGraph graph;                    ///< without its tiles
  std::vector<std::vector<Tiling>> possible; ///< of each layer
  std::vector<Tiling> tilings;               ///< of all
  /// By the devices that one processor was divided into, and by key.
  std::map<int64_t, llvm::StringMap<CallSamples>> samples;
  plan::Profile profile;
};
} // namespace

/// The layers, and all ways to cut any of them.
bool Profiler::findTilings() {
  flags.stopAfter = "differentiated";
  Stopwatch quiet(false);
  FailureOr<CompiledModel> model = compileModel(flags, context, quiet);
  flags.stopAfter = "exec";
  if (failed(model))
    return false;
  graph = plan::buildGraph(*model->module);
  graph.tiles = nullptr; // the module goes
  for (const plan::LayerGraph::Layer &layer : graph.layers) {
    possible.push_back(
        plan::equalTilings(layer, machine, flags.searchDimensions));
    for (const Tiling &tiling : possible.back())
      if (!llvm::is_contained(tilings, tiling))
        tilings.push_back(tiling);
  }
  return true;
}

/// Layers that cannot be cut like that go with their producers. Tiles that are
/// fewer than the devices take turns on these: a program of fewer devices would
/// have more of the processor for each.
plan::Plan Profiler::planWith(const Tiling &tiling) const {
  plan::Plan plan;
  plan.strategy = "profile";
  int64_t next = 0;
  for (auto [layer, known] : llvm::zip_equal(graph.layers, possible))
    if (llvm::is_contained(known, tiling)) {
      plan.layers.push_back({layer.name, tiling});
      if (tiling.tiles() == machine.devices())
        continue;
      std::vector<Place> &places = plan.layers.back().tiling.places;
      places.clear();
      for (int64_t tile = 0; tile < tiling.tiles(); ++tile)
        places.push_back(machine.place(next++));
    }
  return plan;
}

plan::Plan Profiler::planOnOneDevice() const {
  plan::Plan plan;
  plan.strategy = "profile";
  for (const plan::LayerGraph::Layer &layer : graph.layers) {
    plan.layers.push_back({layer.name, Tiling()});
    plan.layers.back().tiling.places = {machine.place(0)};
  }
  return plan;
}

/// Compiles a program into a file of the folder.
Expected<Profiler::Program> Profiler::build(const plan::Plan &plan,
                                            StringRef name) {
  std::string planPath = folder.file("plan.json");
  if (Error error = writeFile(planPath, plan::toJson(plan)))
    return std::move(error);
  flags.plan = planPath;
  Stopwatch quiet(false);
  FailureOr<CompiledModel> model = compileModel(flags, context, quiet);
  FailureOr<std::string> text = failure();
  if (succeeded(model))
    text = emitProgram(model->program);
  if (failed(text))
    return makeError("a program could not be made"); // messages said why
  TrainerSource source;
  source.target = flags.platform == "cpu" ? Target::cpu : Target::cuda;
  source.name = sanitizeName(llvm::sys::path::stem(flags.input));
  source.text = std::move(*text);
  source.weights = model->blob;
  source.architectures = defaultArchitectures(source.target);
  Program program = {folder.file(name), TracedProgram(model->program),
                     flags.steps};
  if (Error error = buildBinary(source, program.trainer))
    return std::move(error);
  return program;
}

/// Runs a program once. What runs for some milliseconds only may be quicker or
/// slower than it is for long: then it runs again, for more steps.
Error Profiler::measure(Program &program) {
  constexpr double leastSeconds = 0.25;
  std::string trace = folder.file("trace");
  if (Error error = execute({program.trainer,
                             "--benchmark=" + std::to_string(program.steps),
                             "--trace=" + trace},
                            folder.file("log")))
    return error;
  Expected<CallTimes> times = CallTimes::read(trace);
  if (!times)
    return times.takeError();
  if (double seconds = times->seconds();
      !flags.steps.getNumOccurrences() && seconds < leastSeconds / 2) {
    double longer = leastSeconds / std::max(seconds, 1e-4);
    program.steps = static_cast<int64_t>(program.steps * longer);
    return measure(program);
  }
  profile.device = times->device;
  return add(program.calls, *times);
}

/// The median, and from the quartiles the deviation that a normal distribution
/// with the same ones has: single calls that were interrupted do not count.
static plan::Profile::Entry summarize(CallSamples &calls) {
  std::vector<double> &seconds = calls.seconds;
  llvm::sort(seconds);
  auto quantile = [&](double part) {
    return seconds[static_cast<size_t>(
        part * static_cast<double>(seconds.size() - 1))];
  };
  // Less than the clock shows is not nothing.
  return {std::max(quantile(0.5), 1e-9),
          (quantile(0.75) - quantile(0.25)) / 1.349, calls.work,
          static_cast<int64_t>(seconds.size())};
}

/// Makes and runs a program for each way to cut.
bool Profiler::runPrograms() {
  if (!findTilings())
    return false;
  // What is printed of a plan, and the plan.
  std::vector<std::pair<std::string, plan::Plan>> plans;
  for (const Tiling &tiling : tilings)
    plans.emplace_back(llvm::formatv("n={0} c={1} h={2} w={3} k={4}",
                                     tiling.degrees[0], tiling.degrees[1],
                                     tiling.degrees[2], tiling.degrees[3],
                                     tiling.degrees[4]),
                       planWith(tiling));
  if (machine.oneProcessor && machine.devices() > 1)
    plans.emplace_back("one device", planOnOneDevice());
  std::vector<Program> programs;
  for (const auto &[what, plan] : plans) {
    std::string number = std::to_string(programs.size() + 1);
    llvm::errs() << "program " << number << " of " << plans.size() << ": "
                 << what << "\n";
    Expected<Program> program = build(plan, "trainer" + number);
    if (!program)
      return complain(llvm::toString(program.takeError()));
    programs.push_back(std::move(*program));
  }
  for (int round = 0; round < flags.rounds; ++round)
    for (Program &program : programs)
      if (Error error = measure(program))
        return complain(llvm::toString(std::move(error)));
  return true;
}

/// Takes the times of one program from the traces, or says what is wrong with
/// any of them.
bool Profiler::readTraces() {
  Stopwatch quiet(false);
  FailureOr<CompiledModel> model = compileModel(flags, context, quiet);
  if (failed(model))
    return false;
  TracedProgram program(model->program);
  bool good = true;
  for (const std::string &file : flags.traces) {
    Expected<CallTimes> times = CallTimes::read(file);
    if (!times) {
      good = complain(llvm::toString(times.takeError()));
      continue;
    }
    if (times->target != flags.platform)
      good =
          complain("trace '" + file + "': it is of --target=" + times->target +
                   ", not " + flags.platform);
    else if (Error error = add(program, *times))
      good =
          complain("trace '" + file + "': " + llvm::toString(std::move(error)) +
                   "; give the flags that its trainer was compiled with");
    profile.device = times->device;
  }
  return good;
}

bool Profiler::run() {
  profile.target = flags.platform;
  profile.precision = flags.precision;
  if (llvm::sys::fs::is_regular_file(flags.output)) {
    std::vector<std::string> mistakes = plan::readProfile(
        flags.output, flags.precision, flags.platform, profile);
    for (const std::string &mistake : mistakes)
      complain(mistake);
    if (!mistakes.empty())
      return false;
  }
  for (const std::string &mistake :
       plan::findDevices(flags.machine, flags.gpus, machine, flags.nodes))
    return complain(mistake);
  if (!(flags.traces.empty() ? runPrograms() : readTraces()))
    return false;
  size_t measured = 0;
  for (auto &[share, byKey] : samples)
    for (auto &[key, calls] : byKey)
      if (!calls.seconds.empty()) { // nothing waits on one device
        profile.add(share, key, summarize(calls));
        ++measured;
      }
  if (Error error = writeFile(flags.output, profile.toJson()))
    return complain(llvm::toString(std::move(error)));
  llvm::errs() << measured << " calls measured on " << machine.devices()
               << " devices; " << profile.size() << " in " << flags.output
               << "\n";
  return true;
}

int lwcc::profileMain(int argc, char **argv) {
  ProfileFlags flags;
  bool good = flags.parse(
      argc, argv,
      "lwcc profile: measures how long the calls of a model take, for lwcc "
      "--costs\n");
  auto fail = [&](const llvm::Twine &message) {
    complain(message);
    good = false;
  };
  std::optional<Target> target = targetOf(flags.target, "measuring the CPU");
  if (flags.output.empty())
    fail("no output given; add -o costs.json");
  if (flags.steps < 1 || flags.rounds < 1)
    fail("--steps and --rounds: at least one is needed");
  if (!flags.traces.empty())
    for (const cl::Option *option : {static_cast<cl::Option *>(&flags.steps),
                                     static_cast<cl::Option *>(&flags.rounds)})
      if (option->getNumOccurrences())
        fail("--" + option->ArgStr +
             ": nothing is run with --trace; leave one of them out");
  if (!good || !target)
    return 1;
  flags.platform = nameOf(*target);
  if (flags.machine.empty())
    flags.machine = thisMachine(*target, flags.gpus);
  if (Error error = checkOutput(flags.output))
    return complain(std::move(error));
  if (flags.traces.empty())
    if (auto compiler = findCompiler(*target); !compiler)
      return complain(compiler.takeError());
  std::unique_ptr<MLIRContext> context = makeContext();
  auto folder = TemporaryFolder::make();
  if (!folder)
    return complain(folder.takeError());
  return Profiler(flags, *context, **folder).run() ? 0 : 1;
}

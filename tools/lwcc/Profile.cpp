//===- Profile.cpp - lwcc profile -----------------------------------------===//
//
// Every call that a plan may lead to is timed where it will run: inside a step,
// beside what other devices do meanwhile. So for each way to cut a layer, a
// program is made in which all layers that can be are cut like that; it runs,
// and its trace (the trainer's --trace) tells when each call was at work. Of
// equal calls of all steps, layers and devices, the median counts.
//
// A file that is there already is extended: other models and batches, and other
// numbers of devices, find in it what they have in common.
//
//===----------------------------------------------------------------------===//

#include "codegen/EmitProgram.h"
#include "codegen/Names.h"
#include "ir/train/Train.h"
#include "passes/plan/BuildGraph.h"
#include "passes/plan/Call.h"
#include "passes/plan/Space.h"
#include "tools/driver/Driver.h"
#include "tools/lwcc/Build.h"
#include "tools/lwcc/CallTimes.h"
#include "tools/lwcc/Subcommands.h"
#include "tools/lwcc/ThisMachine.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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
  cl::opt<std::string> target{"target", cl::init("cuda"),
                              cl::value_desc("cuda|cpu"),
                              cl::desc("What to measure"), cl::cat(category)};
  cl::opt<int> steps{"steps", cl::init(8), cl::value_desc("N"),
                     cl::desc("Steps that each program is timed in"),
                     cl::cat(category)};
};

/// A folder that goes with its owner.
struct TemporaryFolder {
  TemporaryFolder() {
    if (llvm::sys::fs::createUniqueDirectory("lwcc-profile", path))
      path.clear();
  }
  ~TemporaryFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(StringRef name) const {
    return (StringRef(path) + "/" + name).str();
  }
  llvm::SmallString<128> path;
};

class Profiler {
public:
  Profiler(ProfileFlags &flags, MLIRContext &context)
      : flags(flags), context(context) {}

  /// False after a message.
  bool run();

private:
  bool findTilings();
  plan::Plan planWith(const plan::Tiling &tiling) const;
  bool measure(const plan::Plan &plan);
  Error read(exec::ProgramOp program, StringRef tracePath);
  static bool complain(const llvm::Twine &message) {
    lwcc::complain(message);
    return false;
  }

  ProfileFlags &flags;
  MLIRContext &context;
  TemporaryFolder folder;
  plan::Machine machine;
  plan::LayerGraph graph;                          ///< without its tiles
  std::vector<std::vector<plan::Tiling>> possible; ///< of each layer
  std::vector<plan::Tiling> tilings;               ///< of all
  struct Samples {
    double work;
    std::vector<double> seconds;
  };
  llvm::StringMap<Samples> samples;
  plan::Profile profile;
};
} // namespace

/// The layers, and all ways to cut any of them.
bool Profiler::findTilings() {
  for (const std::string &mistake :
       plan::findDevices(flags.machine, flags.gpus, machine))
    return complain(mistake);
  flags.stopAfter = "differentiated";
  Stopwatch quiet(false);
  FailureOr<CompiledModel> model = compileModel(flags, context, quiet);
  flags.stopAfter = "exec";
  if (failed(model))
    return false;
  graph = plan::buildGraph(*model->module);
  graph.tiles = nullptr; // the module goes
  for (const plan::LayerGraph::Layer &layer : graph.layers) {
    possible.push_back(plan::equalTilings(layer, machine));
    for (const plan::Tiling &tiling : possible.back())
      if (!llvm::is_contained(tilings, tiling))
        tilings.push_back(tiling);
  }
  return true;
}

/// Layers that cannot be cut like that go with their producers. Layers that are
/// not cut take turns on the devices: a program of one device would have the
/// whole processor.
plan::Plan Profiler::planWith(const plan::Tiling &tiling) const {
  plan::Plan plan;
  plan.strategy = "profile";
  int64_t whole = 0;
  for (auto [layer, known] : llvm::zip_equal(graph.layers, possible))
    if (llvm::is_contained(known, tiling)) {
      plan.layers.push_back({layer.name, tiling});
      if (tiling.tiles() == 1)
        plan.layers.back().tiling.places = {machine.place(whole++)};
    }
  return plan;
}

/// Adds the durations of a trace's calls to the samples of their keys.
Error Profiler::read(exec::ProgramOp program, StringRef tracePath) {
  Expected<CallTimes> times = CallTimes::read(tracePath);
  if (!times)
    return times.takeError();
  profile.device = times->device;
  // The calls of each lane, in order.
  SymbolTable symbols(program);
  llvm::MapVector<StringAttr,
                  std::vector<std::pair<StringRef, plan::PricedCall>>>
      lanes;
  for (auto lane : program.getBody().getOps<exec::LaneOp>())
    lanes[lane.getSymNameAttr()];
  auto step = symbols.lookup<exec::SequenceOp>(train::trainStepFunc);
  for (auto call : step.getBody().getOps<exec::CallOp>())
    lanes[call.getLaneAttr().getAttr()].push_back(
        {call.getCallee(), plan::describe(call, symbols)});
  for (const CallTimes::Call &traced : times->calls) {
    const auto *lane = traced.lane < lanes.size()
                           ? &lanes.begin()[traced.lane].second
                           : nullptr;
    if (!lane || traced.number >= lane->size() ||
        (*lane)[traced.number].first != traced.function)
      return lwcc::failed("the trace is not that of the program");
    const plan::PricedCall &call = (*lane)[traced.number].second;
    Samples &known = samples[call.key];
    known.work = call.work.amount();
    known.seconds.push_back(traced.seconds);
  }
  return Error::success();
}

/// Compiles, runs and reads one program.
bool Profiler::measure(const plan::Plan &plan) {
  std::string planPath = folder.file("plan.json");
  if (Error error = writeFile(planPath, plan::toJson(plan)))
    return complain(llvm::toString(std::move(error)));
  flags.plan = planPath;
  Stopwatch quiet(false);
  FailureOr<CompiledModel> model = compileModel(flags, context, quiet);
  if (failed(model))
    return false;
  FailureOr<std::string> text = emitProgram(model->program);
  if (failed(text))
    return false;
  TrainerSource source;
  source.target = flags.target == "cpu" ? Target::cpu : Target::cuda;
  source.name = sanitizeName(llvm::sys::path::stem(flags.input));
  source.text = std::move(*text);
  source.weights = model->blob;
  source.architectures = defaultArchitectures(source.target);
  std::string trainer = folder.file("trainer"), trace = folder.file("trace");
  if (Error error = buildBinary(source, trainer))
    return complain(llvm::toString(std::move(error)));
  if (Error error =
          execute({trainer, "--benchmark=" + std::to_string(flags.steps),
                   "--trace=" + trace},
                  folder.file("log")))
    return complain(llvm::toString(std::move(error)));
  if (Error error = read(model->program, trace))
    return complain(llvm::toString(std::move(error)));
  return true;
}

bool Profiler::run() {
  if (folder.path.empty())
    return complain("no temporary folder can be made");
  profile.target = flags.target;
  profile.precision = flags.precision;
  if (llvm::sys::fs::exists(flags.output)) {
    std::vector<std::string> mistakes =
        plan::readProfile(flags.output, flags.precision, flags.target, profile);
    for (const std::string &mistake : mistakes)
      complain(mistake);
    if (!mistakes.empty())
      return false;
  }
  if (!findTilings())
    return false;
  for (auto [i, tiling] : llvm::enumerate(tilings)) {
    llvm::errs() << llvm::formatv("program {0} of {1}: n={2} c={3} h={4} w={5} "
                                  "k={6}\n",
                                  i + 1, tilings.size(), tiling.degrees[0],
                                  tiling.degrees[1], tiling.degrees[2],
                                  tiling.degrees[3], tiling.degrees[4]);
    if (!measure(planWith(tiling)))
      return false;
  }
  int64_t share = machine.oneProcessor ? machine.devices() : 1;
  for (auto &entry : samples) {
    std::vector<double> &seconds = entry.second.seconds;
    auto middle = seconds.begin() + seconds.size() / 2;
    std::nth_element(seconds.begin(), middle, seconds.end());
    // Less than the clock shows is not nothing.
    profile.add(share, entry.first(),
                {std::max(*middle, 1e-9), entry.second.work,
                 static_cast<int64_t>(seconds.size())});
  }
  if (Error error = writeFile(flags.output, profile.toJson()))
    return complain(llvm::toString(std::move(error)));
  llvm::errs() << samples.size() << " calls measured on " << machine.devices()
               << " devices; " << profile.size() << " in " << flags.output
               << "\n";
  return true;
}

int lwcc::profileMain(int argc, char **argv) {
  ProfileFlags flags;
  if (!flags.parse(argc, argv,
                   "lwcc profile: measures how long the calls of a model take, "
                   "for lwcc --costs\n"))
    return 1;
  if (flags.target != "cuda" && flags.target != "cpu")
    return complain("--target=" + flags.target + ": expected cuda or cpu");
  if (flags.output.empty())
    return complain("no output given; add -o costs.json");
  if (flags.steps < 1)
    return complain("--steps: at least one step is needed");
  flags.platform = flags.target;
  if (flags.machine.empty())
    flags.machine = thisMachine(
        flags.target == "cpu" ? Target::cpu : Target::cuda, flags.gpus);
  if (Error error = checkOutput(flags.output, /*folder=*/false))
    return complain(llvm::toString(std::move(error)));
  auto compiler =
      findCompiler(flags.target == "cpu" ? Target::cpu : Target::cuda);
  if (!compiler)
    return complain(llvm::toString(compiler.takeError()));
  std::unique_ptr<MLIRContext> context = makeContext();
  return Profiler(flags, *context).run() ? 0 : 1;
}

//===- planner-bench.cpp - Speed and agreement of the simulator -----------===//
//
//   planner-bench model.onnx --gpus=4 [--machine=NAME] [--batch=N]
//                 [--proposals=200000] [--full=100] [--anew=100]
//
// Measures the simulator (passes/plan/price/Simulator.h) on Markov chains that
// start at data parallelism and make `--proposals` proposals. Prints how many
// proposals a second are evaluated
// - in delta mode, with all that a chain does;
// - in full mode, with the times of layers and exchanges known from before
//   (`--full` of the proposals);
// - in full mode with everything computed anew (`--anew` of those).
// All modes must give the same step, to the picosecond, and the same memory;
// else the exit code is 1.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/model/BuildGraph.h"
#include "passes/plan/solve/Mcmc.h"
#include "tools/driver/Driver.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace lwcc;
using namespace lwcc::plan;
namespace cl = llvm::cl;

namespace {
struct Flags : CompileFlags {
  cl::opt<int> proposals{"proposals", cl::init(200000), cl::value_desc("N"),
                         cl::desc("Changes that delta mode evaluates"),
                         cl::cat(category)};
  cl::opt<int> full{"full", cl::init(100), cl::value_desc("N"),
                    cl::desc("Of these, how many full mode evaluates as well"),
                    cl::cat(category)};
  cl::opt<int> anew{"anew", cl::init(100), cl::value_desc("N"),
                    cl::desc("Of these, how many it also evaluates knowing "
                             "nothing of layers"),
                    cl::cat(category)};
};

class Clock {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

int main(int argc, char **argv) {
  Flags flags;
  if (!flags.parse(argc, argv, "planner-bench: how quick the simulator is\n"))
    return 1;
  flags.stopAfter = "differentiated";
  Stopwatch watch(flags.verbose);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::FailureOr<CompiledModel> model = compileModel(flags, *context, watch);
  if (failed(model))
    return 1;
  Machine machine;
  for (const std::string &mistake :
       findDevices(flags.machine, flags.gpus, machine, flags.nodes)) {
    llvm::errs() << "lwcc: error: " << mistake << "\n";
    return 1;
  }
  LayerGraph graph = buildGraph(*model->module);
  CostModel costs(machine, flags.precision);
  Problem problem{
      graph,
      machine,
      costs,
      {1e9, static_cast<uint64_t>(flags.searchSeed), flags.searchDimensions}};
  Tilings start = tilingsOf(graph, findSolver("data")->solve(problem));

  Simulator delta(problem);
  Chain chain(problem, delta);
  auto everyOf = [](int all, int some) {
    return std::max(all / std::max(some, 1), 1);
  };
  const int every = everyOf(flags.proposals, flags.full),
            everyAnew = everyOf(flags.full, flags.anew);
  Simulator again(problem);
  double anewSeconds = 0, againSeconds = 0;
  int proposed = 0, compared = 0, comparedAnew = 0, different = 0;
  auto compare = [&](llvm::ArrayRef<Simulator::Change> changes, Ticks step) {
    ++proposed;
    if (compared == flags.full || proposed % every)
      return;
    Tilings tilings = delta.tilings();
    for (const Simulator::Change &change : changes)
      tilings[change.layer] = change.tiling;
    auto isEqual = [&](const Simulator &full) {
      return full.step() == step && full.memory() == delta.proposedMemory();
    };
    bool equal = true;
    if (comparedAnew < flags.anew && compared % everyAnew == 0) {
      Clock anewClock;
      equal = [&] {
        Simulator anew(problem); // which remembers nothing
        anew.simulate(tilings);
        return isEqual(anew);
      }();
      anewSeconds += anewClock.seconds();
      ++comparedAnew;
    }
    Clock againClock;
    again.simulate(tilings);
    againSeconds += againClock.seconds();
    ++compared;
    different += !equal || !isEqual(again);
  };
  Clock clock;
  // A chain ends when it finds nothing better: then the next one begins.
  while (proposed < flags.proposals)
    chain.run(start, flags.proposals - proposed, compare);
  double deltaRate = proposed / (clock.seconds() - anewSeconds - againSeconds);
  double anewRate = comparedAnew / anewSeconds;
  double againRate = compared / againSeconds;
  llvm::outs() << llvm::format(
      "%d layers in %d groups, %d devices: %.0f delta and %.1f full "
      "evaluations a second, delta %.1f times as fast (%.1f with what is known "
      "of layers, %.1f times); %d of %d steps differ\n",
      static_cast<int>(graph.layers.size()), static_cast<int>(chain.groups()),
      static_cast<int>(machine.devices()), deltaRate, anewRate,
      deltaRate / anewRate, againRate, deltaRate / againRate, different,
      compared);
  return different == 0 ? 0 : 1;
}
